import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { Api, TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { headersOf, kindsTo, startSmtpServer } from './inbox.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const OWNER = '198.51.100.1'
const STRANGER = '192.0.2.1'
const PROXY = { IDENTITY_TRUSTED_PROXIES: 'loopback' }

/** Waits until it is decided which mails are sent. */
async function settled(api: Api): Promise<void> {
  const token = await adminToken(api)
  const isSettled = ({ state, attempts }: { state: string; attempts: number }) =>
    state !== 'queued' || attempts > 0
  await until(
    () => api.get('/api/mail?size=1000', { token }),
    ({ body }) => body.content.every(isSettled),
  )
}

async function start(t: TestContext, engine: TestEngine, env: Record<string, string> = {}) {
  const started = await startWithAlice(t, { engine, env: { ...PROXY, ...env } })
  const { api, config } = started
  const headers = (address: string) => ({ headers: { 'x-forwarded-for': address } })
  const ask = async (email: string, address: string) => {
    const reply = await api.post('/api/auth/password-reset', { email }, headers(address))
    assert.equal(reply.status, 202)
    await settled(api)
  }
  let count = 0
  const register = async () => {
    count += 1
    const names = { username: `user-${count}`, email: `user-${count}@example.com` }
    const reply = await api.post('/api/auth/register', { ...ALICE, ...names }, headers(STRANGER))
    assert.equal(reply.status, 201)
    await settled(api)
    return kindsTo(api, names.email)
  }
  /** As if every limit of the whole service that was counted so far were reached. */
  const useUp = async () => {
    const opened = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
    await opened.db
      .updateTable('failed_attempts')
      .set({ failures: 500 })
      .where('attempt', 'like', 'mail of everybody%')
      .execute()
    await opened.close()
  }
  const resets = async (email = ALICE.email) =>
    (await kindsTo(api, email)).filter((kind) => kind === 'password-reset').length
  return { ...started, headers, ask, register, useUp, resets }
}

for (const engine of engines) {
  describe(`the mails of the whole service on ${engine.name}`, engine.options, () => {
    test('that registrations use up leave those of password resets', async (t) => {
      const { ask, register, useUp, resets } = await start(t, engine)
      assert.deepEqual(await register(), ['verify-email'])
      await useUp()

      assert.deepEqual(await register(), [])
      await ask(ALICE.email, STRANGER)

      assert.equal(await resets(), 1)
    })

    test('that resets requested by strangers use up leave those of users where they have a session', async (t) => {
      const { api, ask, headers, useUp, resets } = await start(t, engine)
      await api.post('/api/auth/login', ALICE, headers(OWNER))
      await ask('admin@example.com', STRANGER)
      await useUp()

      await ask('user@example.com', STRANGER)
      await ask(ALICE.email, OWNER)

      assert.deepEqual([await resets('user@example.com'), await resets()], [0, 1])
    })

    test('that wait for the mail server: a reset goes before registrations', async (t) => {
      let refuses = true
      const busy = () => (refuses ? { code: 451, text: 'busy' } : undefined)
      const smtp = await startSmtpServer(t, { refuse: busy })
      const env = { SMTP_URL: smtp.url, MAIL_FROM: 'accounts@plinth.example' }
      const { ask, register, clock } = await start(t, engine, env)
      for (let n = 0; n < 5; n += 1) await register()
      await ask(ALICE.email, STRANGER)
      refuses = false

      clock.advance(60)
      await until(
        () => smtp.received.length,
        (received) => received === 7,
      )

      const subjects = smtp.received.map((mail) => headersOf(mail).subject ?? '')
      const reset = subjects.findIndex((subject) => /password/i.test(subject))
      assert.ok(reset < 2, subjects.join(', '))
    })
  })

  describe(`resets of one address on ${engine.name}`, engine.options, () => {
    test('that a stranger requests do not use up those of the user where they have a session', async (t) => {
      const { api, ask, headers, resets, clock } = await start(t, engine)
      await api.post('/api/auth/login', ALICE, headers(OWNER))
      for (let n = 0; n < 6; n += 1) {
        await ask(ALICE.email, STRANGER)
        clock.advance(61)
      }
      assert.equal(await resets(), 5)

      await ask(ALICE.email, OWNER)
      await ask(ALICE.email, '203.0.113.9')

      assert.equal(await resets(), 6)
    })
  })
}
