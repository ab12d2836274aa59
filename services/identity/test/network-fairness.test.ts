import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { exposition } from '@plinth/kit/metrics'
import type { TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const WRONG = 'a wrong password'
/** Of one /48 there are 65,536. */
const networkOfAttacker = (n: number) => `2001:db8:bad:${n.toString(16)}::1`
const HONEST = '2001:db8:900d:1::1'
const FLOOD = 40

/** One thread, and hashes that take long enough for a queue to form. */
const SLOW = {
  IDENTITY_PASSWORD_WORKERS: '1',
  IDENTITY_PASSWORD_MEMORY_KIB: '32768',
  IDENTITY_PASSWORD_QUEUE_SECONDS: '60',
}

async function start(t: TestContext, engine: TestEngine, given: Record<string, string> = {}) {
  const env = { IDENTITY_TRUSTED_PROXIES: 'loopback', ...given }
  const started = await startWithAlice(t, { engine, env })
  const post = (path: string, address: string, body: object) =>
    started.api.post(path, body, { headers: { 'x-forwarded-for': address } })
  const logIn = (address: string, username: string, password = WRONG) =>
    post('/api/auth/login', address, { username, password })
  return { ...started, post, logIn }
}

type Started = Awaited<ReturnType<typeof start>>

/** Sends the logins of an attacker, and returns how many were answered before this one. */
async function answeredBefore(
  { logIn, server }: Started,
  addressOf: (n: number) => string,
  honest: () => Promise<{ status: number }>,
): Promise<number> {
  let answered = 0
  const flood = Array.from({ length: FLOOD }, async (_, n) => {
    assert.equal((await logIn(addressOf(n), `name-${n}`)).status, 401)
    answered += 1
  })
  const waiting = async () => {
    const text = exposition(await server.metrics.read())
    return Number(/^plinth_password_queue_length\S* (\d+)/m.exec(text)?.[1])
  }
  await until(waiting, (count) => count > FLOOD / 2, 5)
  const before = answered
  assert.equal((await honest()).status, 200)
  const overtaken = answered - before
  await Promise.all(flood)
  return overtaken
}

for (const engine of engines) {
  describe(`a flood of logins on ${engine.name}`, engine.options, () => {
    test('from every /64 of one /48 does not delay a login from another /48', {
      tags: ['all'],
    }, async (t) => {
      const started = await start(t, engine, SLOW)
      const honest = () => started.logIn(HONEST, ALICE.username, ALICE.password)

      const overtook = await answeredBefore(started, networkOfAttacker, honest)

      assert.ok(overtook < 10, `${overtook} logins of the attacker were answered first`)
    })

    test('from everywhere does not delay a login where the user has a session', async (t) => {
      const started = await start(t, engine, SLOW)
      const honest = () => started.logIn(HONEST, ALICE.username, ALICE.password)
      assert.equal((await honest()).status, 200)

      const overtook = await answeredBefore(started, (n) => `198.51.100.${n}`, honest)

      assert.ok(overtook < 10, `${overtook} logins of the attacker were answered first`)
    })
  })

  describe(`the limits of a network on ${engine.name}`, engine.options, () => {
    test('for registrations cannot be multiplied with the /64s of a /48', async (t) => {
      const { post } = await start(t, engine, { IDENTITY_REGISTRATIONS_PER_HOUR: '3' })
      const register = async (address: string, n: number) => {
        const names = { username: `user-${n}`, email: `user-${n}@example.com` }
        return (await post('/api/auth/register', address, { ...ALICE, ...names })).status
      }
      const statuses: number[] = []
      for (let n = 0; n < 30; n += 1) statuses.push(await register(networkOfAttacker(256 * n), n))

      assert.deepEqual(
        [statuses.filter((status) => status === 201).length, await register(HONEST, 31)],
        [12, 201],
      )
    })

    test('for registrations leave room for the neighbours of one /64 and of one /56', async (t) => {
      const { post } = await start(t, engine, { IDENTITY_REGISTRATIONS_PER_HOUR: '3' })
      let count = 0
      const register = async (address: string) => {
        count += 1
        const names = { username: `user-${count}`, email: `user-${count}@example.com` }
        return (await post('/api/auth/register', address, { ...ALICE, ...names })).status
      }
      const fill = async (address: string) => {
        while ((await register(address)) === 201);
      }

      await fill('2001:db8:1:100::1')
      assert.equal(await register('2001:db8:1:101::1'), 201)
      await fill('2001:db8:1:101::1')
      await fill('2001:db8:1:102::1')
      assert.equal(await register('2001:db8:1:103::1'), 429)
      assert.equal(await register('2001:db8:1:200::1'), 201)
    })

    test('for names guessed cannot be multiplied with the /64s of a /48', async (t) => {
      const { logIn } = await start(t, engine, { IDENTITY_FAILURE_LIMIT_PER_NETWORK: '3' })
      const statuses: number[] = []
      for (let n = 0; n < 30; n += 1) {
        const { status } = await logIn(networkOfAttacker(256 * n), `name-${n}`)
        statuses.push(status)
      }

      assert.equal(statuses.filter((status) => status === 401).length, 13)
      assert.equal((await logIn(HONEST, 'another')).status, 401)
    })

    test('for mail requests cannot be multiplied with the /64s of a /48', async (t) => {
      const { api, post } = await start(t, engine)
      const ask = (address: string, n: number) =>
        post('/api/auth/password-reset', address, { email: `unknown-${n}@example.com` })

      for (let n = 0; n < 125; n += 1) await ask(networkOfAttacker(256 * n), n)

      const token = await adminToken(api)
      const { body } = await api.get('/api/audit?event=PASSWORD_RESET_REQUESTED', { token })
      assert.equal(body.totalElements, 1)
    })
  })
}
