import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { startPasskeyClient } from './passkey-client.ts'
import { ADMIN, ALICE, engines, startWithAlice } from './start-identity.ts'

const OWNER = '198.51.100.1'
const ATTACKER = '192.0.2.1'
const WRONG = 'a wrong password'

type Limits = { perNetwork?: number; perAccount?: number }

/** Alice has a session from the address of the test; logins come through a trusted proxy. */
async function startGuessing(
  t: TestContext,
  engine: TestEngine,
  { perNetwork = 1000, perAccount = 300 }: Limits,
) {
  const env = {
    IDENTITY_TRUSTED_PROXIES: 'loopback',
    IDENTITY_FAILURE_LIMIT_PER_NETWORK: String(perNetwork),
    IDENTITY_FAILURE_LIMIT_PER_ACCOUNT: String(perAccount),
  }
  const started = await startWithAlice(t, { engine, env })
  const logIn = (address: string, username: string, password = WRONG) =>
    started.api.post(
      '/api/auth/login',
      { username, password },
      { headers: { 'x-forwarded-for': address } },
    )
  const statusOf = async (...login: Parameters<typeof logIn>) => (await logIn(...login)).status
  return { ...started, logIn, statusOf }
}

type Guessing = Awaited<ReturnType<typeof startGuessing>>

/**
 * Tries a different name each time from one network. Goes one beyond the limit, which uses up the single
 * attempt that is then allowed every 30 seconds.
 */
async function guessManyNames({ statusOf }: Guessing, limit: number) {
  for (let n = 0; n <= limit; n += 1) assert.equal(await statusOf(ATTACKER, `name-${n}`), 401)
}

/** Tries one name from a different network each time, also one beyond the limit. */
async function guessFromManyNetworks({ statusOf }: Guessing, username: string, limit: number) {
  for (let n = 0; n <= limit; n += 1) assert.equal(await statusOf(`203.0.113.${n}`, username), 401)
}

for (const engine of engines) {
  describe(`many names guessed from one network on ${engine.name}`, engine.options, () => {
    test('are 429 beyond the limit, except for one login every 30 seconds', async (t) => {
      const started = await startGuessing(t, engine, { perNetwork: 5 })
      const { logIn, statusOf, clock } = started
      await guessManyNames(started, 5)
      clock.advance(10)

      const wrong = await logIn(ATTACKER, 'another')
      const right = await logIn(ATTACKER, ADMIN.username, ADMIN.password)

      for (const { status, body, headers } of [wrong, right]) {
        assert.deepEqual([status, body.code], [429, 'TOO_MANY_ATTEMPTS'])
        assert.equal(headers.get('retry-after'), '20')
      }
      assert.equal(await statusOf(OWNER, ADMIN.username, ADMIN.password), 200)
      clock.advance(20)
      assert.equal(await statusOf(ATTACKER, ADMIN.username, ADMIN.password), 200)
      assert.equal(await statusOf(ATTACKER, 'another'), 429)
      clock.advance(3570)
      for (let n = 0; n < 5; n += 1) assert.equal(await statusOf(ATTACKER, `name-${n}`), 401)
    })

    test('are limited to 1,000 an hour by default', async (t) => {
      const { config } = await startWithAlice(t, { engine })

      const limits = { perNetwork: 1000, perAccount: 300 }
      assert.deepEqual(config.accounts.failedLogins, limits)
      assert.equal(config.accounts.failures.windowSeconds, 3600)
    })

    test('are counted together for all ports of an address', async (t) => {
      const { statusOf } = await startGuessing(t, engine, { perNetwork: 2 })

      for (const port of [1, 2, 3]) assert.equal(await statusOf(`${ATTACKER}:${port}`, 'a'), 401)
      assert.equal(await statusOf(`${ATTACKER}:4`, 'a'), 429)
    })

    test('are answered no more often in parallel than in sequence', async (t) => {
      const { statusOf } = await startGuessing(t, engine, { perNetwork: 5 })
      const guess = (_: unknown, n: number) => statusOf(ATTACKER, `name-${n}`)

      const statuses = await Promise.all(Array.from({ length: 30 }, guess))

      const learned = statuses.filter((status) => status === 401).length
      assert.ok(learned === 5 || learned === 6, `${learned} were answered`)
      assert.equal(statuses.filter((status) => status === 429).length, 30 - learned)
    })

    test('do not lock out a user who had a session from that network, even after logout', async (t) => {
      const started = await startGuessing(t, engine, { perNetwork: 3 })
      const { api, logIn, statusOf } = started
      const { body: pair } = await logIn(ATTACKER, ALICE.username, ALICE.password)
      const body = { refreshToken: pair.refreshToken }
      await api.post('/api/auth/logout', body, { token: pair.accessToken })
      await guessManyNames(started, 3)

      assert.equal(await statusOf(ATTACKER, ALICE.username, ALICE.password), 200)
      assert.equal(await statusOf(ATTACKER, ADMIN.username, ADMIN.password), 429)
    })
  })

  describe(`one name guessed from many networks on ${engine.name}`, engine.options, () => {
    for (const username of [ALICE.username, 'unknown'])
      test(`is 429 beyond the limit, except for one login every 30 seconds: ${username}`, async (t) => {
        const started = await startGuessing(t, engine, { perAccount: 5 })
        const { logIn, statusOf, clock } = started
        await guessFromManyNetworks(started, username, 5)

        const refused = await logIn(ATTACKER, username, ALICE.password)

        assert.equal(refused.status, 429)
        assert.equal(refused.headers.get('retry-after'), '30')
        assert.equal(await statusOf(ATTACKER, ADMIN.username, ADMIN.password), 200)
        clock.advance(30)
        assert.equal(await statusOf(ATTACKER, username), 401)
        assert.equal(await statusOf(OWNER, username), 429)
        clock.advance(3570)
        assert.equal(await statusOf(ATTACKER, username), 401)
      })

    test('does not lock out its owner on a known network, with a refresh token or with a passkey', async (t) => {
      const started = await startGuessing(t, engine, { perAccount: 3 })
      const { api, logIn, statusOf, token } = started
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(token)).status, 200)
      const { body: pair } = await logIn(OWNER, ALICE.username, ALICE.password)
      await guessFromManyNetworks(started, ALICE.username, 3)

      const elsewhere = await statusOf('198.51.100.2', ALICE.username, ALICE.password)
      const known = await statusOf(OWNER, ALICE.username, ALICE.password)
      const headers = { 'x-forwarded-for': '198.51.100.3' }
      const { refreshToken } = pair
      const refreshed = await api.post('/api/auth/refresh', { refreshToken }, { headers })
      const signed = await passkey.logIn()

      assert.deepEqual([elsewhere, known, refreshed.status, signed.status], [429, 200, 200, 200])
    })

    test('locks out a network whose session was revoked', async (t) => {
      const started = await startGuessing(t, engine, { perAccount: 3 })
      const { api, logIn, statusOf, token } = started
      await logIn(ATTACKER, ALICE.username, ALICE.password)
      const change = { currentPassword: ALICE.password, newPassword: 'another good password' }
      assert.equal((await api.post('/api/users/me/password', change, { token })).status, 204)
      await guessFromManyNetworks(started, ALICE.username, 3)

      assert.equal(await statusOf(ATTACKER, ALICE.username, change.newPassword), 429)
    })

    test('appears in the audit as throttled only once', async (t) => {
      const started = await startGuessing(t, engine, { perAccount: 2 })
      const { api, statusOf } = started
      await guessFromManyNetworks(started, ALICE.username, 2)
      for (const address of [ATTACKER, '192.0.2.2', '192.0.2.3'])
        assert.equal(await statusOf(address, ALICE.username), 429)

      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const { body } = await api.get('/api/audit?size=50', { token: admin.accessToken })

      const logins = (body.content as { event: string; result: string; subject: string }[]).filter(
        ({ event, subject }) => event === 'LOGIN' && subject === ALICE.username,
      )
      const withResult = (wanted: string) => logins.filter(({ result }) => result === wanted).length
      assert.deepEqual([withResult('REFUSED'), withResult('THROTTLED')], [3, 1])
    })
  })
}
