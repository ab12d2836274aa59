import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { routesThatAsk } from '../../../test/routes-that-ask.ts'
import { startIssuer } from './issuer.ts'
import { engines, logIn, startStorage } from './start-storage.ts'

/**
 * Every route of administrators, and whether it asks for a recent sign-in. One that can win a key, a role, or what
 * is sent to an endpoint or a store asks; a new route must be added here.
 */
const ASKS: Record<string, boolean> = {
  'PATCH /api/users/{id}': true,
  'POST /api/service-keys': true,
  'POST /api/service-keys/{id}/rotate': true,
  'DELETE /api/service-keys/{id}': true,
  'POST /api/webhooks/endpoints': true,
  'PATCH /api/webhooks/endpoints/{id}': true,
  'DELETE /api/webhooks/endpoints/{id}': true,
  'GET /api/webhooks/endpoints/{id}/secret': true,
  'POST /api/webhooks/endpoints/{id}/rotate-secret': true,
  'PUT /api/storage/config/local': true,
  'PUT /api/storage/config/object': true,
  'PUT /api/storage/provider': true,
  'POST /api/storage/moves': true,
  // A lower limit removes files from the trash.
  'PATCH /api/storage/limits': true,

  // These protect an account, or keep files where they are.
  'DELETE /api/users/{id}/sessions': false,
  'DELETE /api/users/{id}/sessions/{sessionId}': false,
  'DELETE /api/storage/moves/{id}': false,
  'POST /api/storage/test/local': false,
  'POST /api/storage/test/object': false,

  // These send again what was sent before, to where it was sent.
  'POST /api/webhooks/endpoints/{id}/test': false,
  'POST /api/webhooks/endpoints/{id}/recover': false,
  'POST /api/events/{id}/replay': false,
  'POST /api/events/{id}/forwards': false,

  // These only read, and no secret.
  'GET /api/service-keys': false,
  'GET /api/webhooks/endpoints': false,
  'GET /api/webhooks/endpoints/{id}': false,
  'GET /api/events': false,
  'GET /api/events/stream': false,
  'GET /api/events/{id}': false,
  'GET /api/users': false,
  'GET /api/users/{id}': false,
  'GET /api/users/{id}/sessions': false,
  'GET /api/audit': false,
  'GET /api/storage/status': false,
  'GET /api/storage/config': false,
  'GET /api/storage/locations': false,
  'GET /api/storage/usage': false,
  'GET /api/storage/limits': false,
  'GET /api/storage/moves': false,
  'GET /api/storage/moves/{id}': false,
}

const KEY = { name: 'accomplice', scopes: ['files:read'] }

for (const engine of engines)
  describe(`with SUITE_REAUTHENTICATE, on ${engine.name}`, engine.options, () => {
    const envWith = async (t: Parameters<typeof engine.freshUrl>[0]) => ({
      SUITE_REAUTHENTICATE: 'true',
      STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
    })

    test('a session of an administrator, stolen an hour ago, wins no key, role, secret or file on any route', async (t) => {
      const { baseUrl, clock, user, admin } = await startStorage(t, await envWith(t))
      clock.advance(600)

      const found = await routesThatAsk({ baseUrl, user, admin })

      assert.deepEqual(found, ASKS)
    })

    test('a refresh does not make an old sign-in recent, and a new sign-in is', async (t) => {
      const { api, clock } = await startStorage(t, await envWith(t))
      const account = { username: 'admin', password: 'password123123' }
      const { body: pair } = await api.post('/api/auth/login', account)
      clock.advance(600)

      const { refreshToken } = pair
      const { body: next } = await api.post('/api/auth/refresh', { refreshToken })
      const refused = await api.post('/api/service-keys', KEY, { token: next.accessToken })
      const again = await logIn(api, 'admin')
      const made = await api.post('/api/service-keys', KEY, { token: again })

      assert.deepEqual([refused.status, refused.body.code], [403, 'REAUTHENTICATION_REQUIRED'])
      assert.equal(made.status, 201)
    })

    test('a token of the trusted issuer is as recent as its auth_time, and never without one', async (t) => {
      const { issuer, sign } = await startIssuer(t)
      const env = { ...(await envWith(t)), STORAGE_FULL_TRUSTED_ISSUER: issuer }
      const { api, clock } = await startStorage(t, env)
      const now = Math.floor(clock().getTime() / 1000)
      const statusWith = async (claims: object) => {
        const token = await sign(clock(), { roles: ['ROLE_ADMIN'], ...claims })
        const change = { enabled: false, reason: 'left' }
        const { status: key } = await api.post('/api/service-keys', KEY, { token })
        const { status: user } = await api.patch('/api/users/2', change, { token })
        return [key, user]
      }

      assert.deepEqual(await statusWith({ auth_time: now - 600 }), [403, 403])
      assert.deepEqual(await statusWith({}), [403, 403])
      assert.deepEqual(await statusWith({ auth_time: String(now) }), [403, 403])
      assert.deepEqual(await statusWith({ auth_time: now - 599 }), [201, 200])
    })

    test('a service key needs no recent sign-in: the key proves itself', async (t) => {
      const { api, clock, admin } = await startStorage(t, await envWith(t))
      const body = { name: 'directory', scopes: ['users:write', 'webhooks:write'] }
      const { body: key } = await api.post('/api/service-keys', body, { token: admin })
      clock.advance(600)

      const token = key.secret
      const disabled = await api.patch(
        '/api/users/2',
        { enabled: false, reason: 'left' },
        { token },
      )
      const endpoint = { url: 'http://127.0.0.1:9/hook', types: ['file.uploaded'] }
      const made = await api.post('/api/webhooks/endpoints', endpoint, { token })

      assert.deepEqual([disabled.status, made.status], [200, 201])
    })
  })

for (const engine of engines)
  test(
    `without SUITE_REAUTHENTICATE an old sign-in is enough, on ${engine.name}`,
    engine.options,
    async (t) => {
      const env = { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) }
      const { api, clock, admin } = await startStorage(t, env)
      clock.advance(600)

      const made = await api.post('/api/service-keys', KEY, { token: admin })

      assert.equal(made.status, 201)
    },
  )
