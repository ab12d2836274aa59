import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { type TestEngine, testClock } from '@plinth/kit/testing'
import { commandLine } from './command-line.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, startIdentity, startWithAlice } from './start-identity.ts'

const NEW_PASSWORD = 'a wholly new password'

/** Two nodes on one database. A thief has stolen the tokens of alice's other session. */
async function startWithThief(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
  const started = await startWithAlice(t, { engine, clock, env })
  const { api: elsewhere } = await startIdentity(t, { engine, clock, env })
  const { body: stolen } = await started.api.post('/api/auth/login', ALICE)
  const thief = stolen.accessToken as string
  const { body: sessions } = await started.api.get('/api/users/me/sessions', { token: thief })
  const { id: stolenId } = sessions.find(({ current }: { current: boolean }) => current)
  const statusOnBothNodes = async (token: string) => [
    (await started.api.get('/api/users/me', { token })).status,
    (await elsewhere.get('/api/users/me', { token })).status,
  ]
  return { ...started, thief, stolenId, statusOnBothNodes }
}

const REASON = { reason: 'a stolen device' }

type Thief = Awaited<ReturnType<typeof startWithThief>>

const ENDINGS: Record<string, (started: Thief) => Promise<unknown>> = {
  'the owner changes the password': ({ api, token }) =>
    api.post(
      '/api/users/me/password',
      { currentPassword: ALICE.password, newPassword: NEW_PASSWORD },
      { token },
    ),
  'the owner ends the session': ({ api, token, stolenId }) =>
    api.delete(`/api/users/me/sessions/${stolenId}`, { token }),
  'an administrator ends the session': async ({ api, userId, stolenId }) =>
    api.deleteWith(`/api/users/${userId}/sessions/${stolenId}`, REASON, {
      token: await adminToken(api),
    }),
  'an administrator ends all sessions': async ({ api, userId }) =>
    api.deleteWith(`/api/users/${userId}/sessions`, REASON, { token: await adminToken(api) }),
  'the user is disabled and enabled again': async ({ api, userId }) => {
    const token = await adminToken(api)
    await api.patch(`/api/users/${userId}`, { enabled: false }, { token })
    await api.patch(`/api/users/${userId}`, { enabled: true }, { token })
  },
  'an operator resets the password': ({ config }) =>
    commandLine(config.databaseUrl)('user', 'reset-password', 'alice'),
  'an operator ends the session': ({ config, stolenId }) =>
    commandLine(config.databaseUrl)('user', 'end-session', 'alice', String(stolenId)),
  'an operator ends all sessions': ({ config }) =>
    commandLine(config.databaseUrl)('user', 'end-session', 'alice', '--all'),
}

for (const engine of engines) {
  describe(`a stolen access token on ${engine.name}`, engine.options, () => {
    for (const [ending, end] of Object.entries(ENDINGS))
      test(`adds no passkey and reads nothing once ${ending}`, async (t) => {
        const started = await startWithThief(t, engine)
        const { api, thief, statusOnBothNodes } = started
        const passkeys = await startPasskeyClient(api)
        const options = await passkeys.registrationOptions(thief)
        assert.deepEqual(await statusOnBothNodes(thief), [200, 200])

        await end(started)

        assert.deepEqual(await statusOnBothNodes(thief), [401, 401])
        const { headers, authenticator } = passkeys
        const publicKey = { credential: authenticator.create(options), label: 'thief' }
        const added = await api.post('/webauthn/register', { publicKey }, { token: thief, headers })
        assert.equal(added.status, 401)
      })

    test('is rejected after a password change even if its session had logged out before', async (t) => {
      const { api, token, pair, thief, statusOnBothNodes } = await startWithThief(t, engine)
      const { refreshToken } = pair
      await api.post('/api/auth/logout', { refreshToken }, { token })
      assert.deepEqual(await statusOnBothNodes(token), [200, 200])

      const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }
      await api.post('/api/users/me/password', change, { token: thief })

      assert.deepEqual(await statusOnBothNodes(token), [401, 401])
    })

    test('is rejected once a replay of its refresh token has ended the session', async (t) => {
      const env = { IDENTITY_REFRESH_REUSE: 'revoke' }
      const { api, clock, pair, token } = await startWithAlice(t, { engine, env })
      const { refreshToken } = pair
      await api.post('/api/auth/refresh', { refreshToken })
      clock.advance(60)
      await api.post('/api/auth/refresh', { refreshToken })

      assert.equal((await api.get('/api/users/me', { token })).status, 401)
    })

    test('is followed by one audit row and one event when a replay ends its session', async (t) => {
      const env = { IDENTITY_REFRESH_REUSE: 'revoke' }
      const { api, clock, pair, userId } = await startWithAlice(t, { engine, env })
      const { refreshToken } = pair
      await api.post('/api/auth/refresh', { refreshToken })
      clock.advance(60)
      for (let n = 0; n < 3; n++) await api.post('/api/auth/refresh', { refreshToken })

      const admin = { token: await adminToken(api) }
      const { body: audit } = await api.get('/api/audit?event=SESSION_REVOKED', admin)
      const { body: events } = await api.get('/api/events', admin)

      assert.deepEqual(
        audit.content.map(({ subject }: { subject: string }) => subject),
        ['alice'],
      )
      const ended = events.items.filter(({ type }: { type: string }) => type === 'session.revoked')
      assert.deepEqual(
        ended.map(({ data }: { data: object }) => data),
        [{ userId, cause: 'SESSION_REVOKED' }],
      )
    })

    test('adds no passkey while a concurrent password reset removes them', async (t) => {
      const started = await startWithThief(t, engine)
      const { api, thief, userId } = started
      const run = commandLine(started.config.databaseUrl)
      const clients = await Promise.all(Array.from({ length: 6 }, () => startPasskeyClient(api)))
      let resetting = true
      const attempts = clients.map(async (client) => {
        while (resetting) await client.register(thief).catch(() => undefined)
      })

      await run('user', 'reset-password', 'alice')
      resetting = false
      await Promise.all(attempts)

      const token = await adminToken(api)
      assert.deepEqual((await api.get(`/api/users/${userId}/passkeys`, { token })).body, [])
    })
  })

  describe(`a reset at the command line on ${engine.name}`, engine.options, () => {
    test('removes the passkeys, except with --keep-passkeys', async (t) => {
      const { api, config, token } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)
      const passkeys = await startPasskeyClient(api)
      await passkeys.register(token)

      await run('user', 'reset-password', 'alice', '--keep-passkeys')
      assert.equal((await passkeys.logIn()).status, 200)
      await run('user', 'reset-password', 'alice')

      assert.equal((await passkeys.logIn()).status, 401)
      const { body } = await api.get('/api/audit', { token: await adminToken(api) })
      const removed = body.content.find(
        ({ event }: { event: string }) => event === 'PASSKEY_REMOVED',
      )
      assert.deepEqual([removed.actor, removed.subject], ['command line', 'alice'])
    })
  })
}
