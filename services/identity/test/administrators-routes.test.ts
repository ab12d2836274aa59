import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { routesThatAsk } from '../../../test/routes-that-ask.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const env = { SUITE_REAUTHENTICATE: 'true' }

/**
 * Every route of administrators, and whether it asks for a recent reauthentication. One that can win an
 * account, a key, a role or what is sent to an endpoint asks; a new route must be added here.
 */
const ASKS: Record<string, boolean> = {
  'POST /api/users': true,
  'PATCH /api/users/{id}': true,
  'PATCH /api/registration': true,
  'DELETE /api/users/{id}': true,
  'POST /api/users/{id}/password-reset': true,
  'POST /api/users/{id}/export': true,
  'DELETE /api/users/{id}/totp': true,
  'DELETE /api/users/{id}/passkeys': true,
  'DELETE /api/users/{id}/passkeys/{credentialId}': true,
  'DELETE /api/users/{id}/identities/{identityId}': true,
  'POST /api/service-keys': true,
  'POST /api/service-keys/{id}/rotate': true,
  'DELETE /api/service-keys/{id}': true,
  'POST /api/clients': true,
  'PATCH /api/clients/{clientId}': true,
  'DELETE /api/clients/{clientId}': true,
  'POST /api/clients/{clientId}/rotate-secret': true,
  'POST /api/webhooks/endpoints': true,
  'PATCH /api/webhooks/endpoints/{id}': true,
  'DELETE /api/webhooks/endpoints/{id}': true,
  'GET /api/webhooks/endpoints/{id}/secret': true,
  'POST /api/webhooks/endpoints/{id}/rotate-secret': true,

  // These protect an account, or keep it as it is.
  'DELETE /api/users/{id}/sessions': false,
  'DELETE /api/users/{id}/sessions/{sessionId}': false,
  'DELETE /api/users/{id}/grants/{clientId}': false,
  'POST /api/users/{id}/require-password-change': false,
  'POST /api/users/{id}/deletion/cancel': false,

  // These send again what was sent before, to where it was sent.
  'POST /api/users/{id}/verify-email': false,
  'POST /api/mail/{id}/retry': false,
  'POST /api/webhooks/endpoints/{id}/test': false,
  'POST /api/webhooks/endpoints/{id}/recover': false,
  'POST /api/events/{id}/replay': false,
  'POST /api/events/{id}/forwards': false,

  // These only read, and no secret.
  'GET /api/clients': false,
  'GET /api/clients/{clientId}': false,
  'GET /api/users/{id}/grants': false,
  'GET /api/users/{id}/identities': false,
  'GET /api/providers': false,
  'POST /api/providers/{provider}/test': false,
  'GET /api/users': false,
  'GET /api/registration': false,
  'GET /api/users/{id}': false,
  'GET /api/users/{id}/status': false,
  'GET /api/users/{id}/sessions': false,
  'GET /api/users/{id}/totp': false,
  'GET /api/users/{id}/passkeys': false,
  'GET /api/users/deleted': false,
  'GET /api/audit': false,
  'GET /api/mail': false,
  'GET /api/mail/templates': false,
  'GET /api/service-keys': false,
  'GET /api/webhooks/endpoints': false,
  'GET /api/webhooks/endpoints/{id}': false,
  'GET /api/events': false,
  'GET /api/events/stream': false,
  'GET /api/events/{id}': false,
}

for (const engine of engines)
  describe(
    `a session of an administrator, stolen an hour ago, on ${engine.name}`,
    engine.options,
    () => {
      test('wins no account, key, role or secret on any route of administrators', async (t) => {
        const { api, baseUrl, token: user, clock } = await startWithAlice(t, { engine, env })
        const admin = await adminToken(api)
        clock.advance(600)

        const found = await routesThatAsk({ baseUrl, user, admin })

        assert.deepEqual(found, ASKS)
      })

      test('promotes no accomplice until it proves again who it is', async (t) => {
        const { api, clock, userId } = await startWithAlice(t, { engine, env })
        const token = await adminToken(api)
        const promote = () =>
          api.request('PATCH', `/api/users/${userId}`, {
            token,
            headers: { 'content-type': 'application/json' },
            body: JSON.stringify({ roles: ['ROLE_ADMIN'], reason: 'asked for' }),
          })
        clock.advance(600)

        const refused = await promote()
        const proof = { password: 'password123123' }
        const proved = await api.post('/api/auth/reauthenticate', proof, { token })
        const accepted = await promote()

        assert.deepEqual([refused.status, refused.body.code], [403, 'REAUTHENTICATION_REQUIRED'])
        assert.equal(proved.status, 204)
        assert.equal(accepted.status, 200)
      })

      test('is not what a service key needs: the key proves itself', async (t) => {
        const { api, clock, userId } = await startWithAlice(t, { engine, env })
        const admin = await adminToken(api)
        const body = { name: 'directory', scopes: ['users:write', 'webhooks:write'] }
        const { body: key } = await api.post('/api/service-keys', body, { token: admin })
        clock.advance(600)

        const disabled = await api.request('PATCH', `/api/users/${userId}`, {
          token: key.secret,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify({ enabled: false, reason: 'has left' }),
        })
        const endpoint = { url: 'http://127.0.0.1:9/hook', types: ['user.registered'] }
        const made = await api.post('/api/webhooks/endpoints', endpoint, { token: key.secret })

        assert.equal(disabled.status, 200)
        assert.equal(made.status, 201)
        assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
      })
    },
  )
