import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { until } from '../../../test/until.ts'
import { ALICE, adminToken, bothEngines, startIdentity } from './start-identity.ts'

const PATH = '/api/registration'

for (const engine of bothEngines)
  describe(
    `registration that administrators open and close, on ${engine.name}`,
    engine.options,
    () => {
      const start = async (t: TestContext, env: Record<string, string> = {}) => {
        const started = await startIdentity(t, { engine, env })
        const token = { token: await adminToken(started.api) }
        const register = (username: string) =>
          started.api.post('/api/auth/register', {
            ...ALICE,
            username,
            email: `${username}@localhost`,
          })
        const offered = async () =>
          (await started.api.get('/api-test/facts.json')).body.registration
        return { ...started, token, register, offered }
      }

      test('applies to the next registration, is in the audit, and null returns to the settings', async (t) => {
        const { api, token, register, offered, clock } = await start(t)

        const closed = await api.patch(PATH, { open: false }, token)
        const refused = await register('alice')
        const shown = await offered()
        const same = await api.patch(PATH, { open: false }, token)
        const back = await api.patch(PATH, { open: null }, token)
        const accepted = await register('alice')

        const changedAt = clock().toISOString()
        assert.deepEqual(closed.body, { open: false, setting: true, changedAt })
        assert.deepEqual([refused.status, refused.body.code], [403, 'REGISTRATION_CLOSED'])
        assert.equal(shown, false)
        assert.equal(same.status, 200)
        assert.deepEqual(back.body, { open: true, setting: true, changedAt: null })
        assert.equal(accepted.status, 201)
        assert.equal(await offered(), true)
        const { body: audit } = await api.get('/api/audit?event=REGISTRATION_CHANGED', token)
        assert.deepEqual(
          audit.content.map((row: Record<string, unknown>) => [row.actor, row.subject, row.reason]),
          [
            ['admin', 'registration', 'closed, now open as in the settings'],
            ['admin', 'registration', 'open, now closed'],
          ],
        )
      })

      test('opens what the settings close, and is no business of other users', async (t) => {
        const { api, token, register } = await start(t, { IDENTITY_REGISTRATION: 'closed' })
        assert.equal((await register('alice')).status, 403)

        await api.patch(PATH, { open: true }, token)
        const accepted = await register('alice')
        const login = { usernameOrEmail: 'alice', username: 'alice', password: ALICE.password }
        const { body } = await api.post('/api/auth/login', login)
        const user = { token: body.accessToken }
        const denied = await api.patch(PATH, { open: false }, user)
        const hidden = await api.get(PATH, user)
        const faulty = await api.patch(PATH, { open: 'maybe' }, token)

        assert.deepEqual(
          [accepted.status, denied.status, hidden.status, faulty.status],
          [201, 403, 403, 400],
        )
        assert.equal((await api.get(PATH, token)).body.open, true)
      })

      test('applies at other nodes, too, and after a restart', async (t) => {
        const first = await start(t)
        const env = { IDENTITY_DATABASE_URL: first.config.databaseUrl }
        const second = await startIdentity(t, { env })
        const offered = async ({ api }: typeof second) =>
          (await api.get('/api-test/facts.json')).body.registration

        await first.api.patch(PATH, { open: false }, first.token)
        await until(
          () => offered(second),
          (open) => open === false,
        )
        const third = await startIdentity(t, { env })

        assert.equal(await offered(third), false)
      })
    },
  )
