import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, type TestContext, test } from 'node:test'
import { type TestEngine, testClock } from '@plinth/kit/testing'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { routesThatAsk } from '../../../test/routes-that-ask.ts'
import { engines, startPayments } from './start-payments.ts'

/**
 * Every route of administrators, and whether it asks for a recent sign-in. One that can win a key or what is sent to
 * an endpoint asks; a new route must be added here.
 */
const ASKS: Record<string, boolean> = {
  'POST /api/service-keys': true,
  'POST /api/service-keys/{id}/rotate': true,
  'DELETE /api/service-keys/{id}': true,
  'POST /api/webhooks/endpoints': true,
  'PATCH /api/webhooks/endpoints/{id}': true,
  'DELETE /api/webhooks/endpoints/{id}': true,
  'GET /api/webhooks/endpoints/{id}/secret': true,
  'POST /api/webhooks/endpoints/{id}/rotate-secret': true,

  // Money goes back to the customer who paid it, and nowhere else.
  'POST /api/payments/{id}/refund': false,
  'POST /api/payments/{id}/check': false,
  'POST /api/webhook-events/{id}/retry': false,

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
}

const KEY = { name: 'accomplice', scopes: ['payments:read'] }

/** An issuer, and a payment service that requires its tokens; `sign` makes one. */
async function startTrusting(t: TestContext, engine: TestEngine, more: Record<string, string>) {
  const clock = testClock()
  const { publicKey, privateKey } = await generateKeyPair('ES256', { extractable: true })
  const key = { ...(await exportJWK(publicKey)), kid: 'one', alg: 'ES256', use: 'sig' }
  const server = createServer((_request, response) => {
    response.end(JSON.stringify({ keys: [key] }))
  }).listen(0, '127.0.0.1')
  t.after(() => void server.close())
  await once(server, 'listening')
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const env = { PAYMENTS_REQUIRE_ISSUER: issuer, PAYMENTS_ROLE: 'ROLE_USER', ...more }
  const databaseUrl = await engine.freshUrl(t)
  const { api, baseUrl } = await startPayments(t, { clock, env, databaseUrl })
  const sign = (roles: string[], secondsAgo?: number) => {
    const since = Math.floor(clock().getTime() / 1000) - (secondsAgo ?? 0)
    const claims = { username: 'remote', roles, sid: '1' }
    return new SignJWT(secondsAgo === undefined ? claims : { ...claims, auth_time: since })
      .setProtectedHeader({ alg: 'ES256', typ: 'at+jwt', kid: 'one' })
      .setIssuer(issuer)
      .setAudience('plinth')
      .setSubject('2')
      .setIssuedAt(clock())
      .setExpirationTime(new Date(clock().getTime() + 900_000))
      .sign(privateKey)
  }
  return { api, baseUrl, sign }
}

const ADMIN = ['ROLE_USER', 'ROLE_ADMIN']
const asking = { SUITE_REAUTHENTICATE: 'true' }

for (const engine of engines)
  describe(`a token of the issuer, on ${engine.name}`, engine.options, () => {
    test("an administrator's, whose sign-in is long ago, wins no key or secret on any route", async (t) => {
      const { baseUrl, sign } = await startTrusting(t, engine, asking)
      const [user, admin] = [await sign(['ROLE_USER'], 0), await sign(ADMIN, 600)]

      const found = await routesThatAsk({ baseUrl, user, admin })

      assert.deepEqual(found, ASKS)
    })

    test('is as recent as its auth_time, and never without one', async (t) => {
      const { api, sign } = await startTrusting(t, engine, asking)
      const replyTo = async (token: string) => {
        const { status, body } = await api.post('/api/service-keys', KEY, { token })
        return [status, body.code]
      }

      const refused = [403, 'REAUTHENTICATION_REQUIRED']
      assert.deepEqual(await replyTo(await sign(ADMIN, 600)), refused)
      assert.deepEqual(await replyTo(await sign(ADMIN)), refused)
      assert.deepEqual(await replyTo(await sign(ADMIN, 599)), [201, undefined])
    })

    test('is not what a service key needs: the key proves itself', async (t) => {
      const { api, sign } = await startTrusting(t, engine, asking)
      const body = { name: 'operator', scopes: ['keys:write', 'payments:read'] }
      const { body: key } = await api.post('/api/service-keys', body, {
        token: await sign(ADMIN, 0),
      })

      const made = await api.post('/api/service-keys', KEY, { token: key.secret })

      assert.equal(made.status, 201)
    })

    test('may be old without SUITE_REAUTHENTICATE', async (t) => {
      const { api, sign } = await startTrusting(t, engine, {})

      const made = await api.post('/api/service-keys', KEY, { token: await sign(ADMIN, 600) })

      assert.equal(made.status, 201)
    })
  })
