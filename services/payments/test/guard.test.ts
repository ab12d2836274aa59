import assert from 'node:assert/strict'
import { generateKeyPairSync } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, test } from 'node:test'
import type { Env } from '@plinth/kit/runtime'
import { type TestEngine, testClock } from '@plinth/kit/testing'
import { createAccessTokenSigner } from '@plinth/kit/tokens'
import { until } from '../../../test/until.ts'
import { shared } from './shared.ts'
import { engines, startPayments } from './start-payments.ts'

const UNKNOWN = '5b4f5a0e-6a53-4f62-93f6-0a1f6e0b7a11'
const GUARDED: [method: string, path: string][] = [
  ['POST', '/api/customers'],
  ['GET', '/api/customers/cus_1'],
  ['POST', '/api/checkout/sessions'],
  ['GET', `/api/payments/${UNKNOWN}`],
  ['GET', '/api/payments'],
  ['GET', `/api/payments/${UNKNOWN}/timeline`],
  ['POST', `/api/payments/${UNKNOWN}/refund`],
  ['GET', '/api/refunds/re_1'],
  ['POST', `/api/payments/${UNKNOWN}/check`],
  ['GET', '/api/customers'],
  ['GET', '/api/webhook-events'],
  ['GET', '/api/webhook-events/evt_1'],
  ['POST', '/api/webhook-events/evt_1/retry'],
  ['GET', '/api/audit'],
]
const FOR_ADMINS = GUARDED.filter(([, path]) => /refund$|retry$|check$/.test(path))

const METADATA = 'resource_metadata="http://localhost:8084/.well-known/oauth-protected-resource"'

type Scope = { after(work: () => void): void }

/** A stand-in for the identity service: its published key, and tokens signed with it. */
async function startIssuer(t: Scope, engine: TestEngine, settings: Env = {}) {
  const clock = testClock()
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const jwk = { ...publicKey.export({ format: 'jwk' }), kid: 'k1', alg: 'ES256', use: 'sig' }
  const answer = { status: 200, body: { active: true, username: 'anna', roles: ['ROLE_ADMIN'] } }
  const deleted: { id: number; deletedAt: string }[] = []
  const server = createServer(({ url = '' }, response) => {
    if (url.startsWith('/api/users/deleted')) {
      const items = url.endsWith('?after=end') ? [] : deleted
      return response.end(JSON.stringify({ items, next: items.length > 0 ? 'end' : null }))
    }
    if (url !== '/oauth2/introspect') return response.end(JSON.stringify({ keys: [jwk] }))
    response.writeHead(answer.status).end(JSON.stringify(answer.body))
  }).listen(0, '127.0.0.1')
  t.after(() => {
    server.close()
  })
  await new Promise((listening) => server.once('listening', listening))
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const rules = { issuer, audience: 'plinth', clock, lifetimeSeconds: 900 }
  const signer = createAccessTokenSigner(rules, {
    current: async () => ({ kid: 'k1', privateKey }),
  })
  const tokenFor = (...roles: string[]) =>
    signer.sign({ userId: '1', username: 'anna', roles, sessionId: 's' })
  // No server answers for this provider: a call that got past the guard is 503.
  const base = { PAYMENTS_REQUIRE_ISSUER: issuer, PROVIDER_API_BASE: 'http://127.0.0.1:9' }
  const env = { ...base, ...settings }
  const databaseUrl = await engine.freshUrl(t)
  const startNode = () => startPayments(t, { clock, env, databaseUrl })
  return { ...(await startNode()), startNode, tokenFor, clock, answer, deleted }
}

for (const engine of engines)
  describe(`with default settings on ${engine.name}`, engine.options, () => {
    test('no token is required', async (t) => {
      const { api } = await startPayments(t, { databaseUrl: await engine.freshUrl(t) })

      for (const [method, path] of GUARDED)
        assert.notEqual((await api.request(method, path)).status, 401, path)
    })
  })

for (const engine of engines)
  describe(`with PAYMENTS_REQUIRE_ISSUER on ${engine.name}`, engine.options, () => {
    const guarded = shared((scope) => startIssuer(scope, engine))

    test('every guarded endpoint is 401 without a token and with a bad one', async () => {
      const { api } = guarded()

      for (const [method, path] of GUARDED) {
        const without = await api.request(method, path)
        const bad = await api.request(method, path, { token: 'nonsense' })
        assert.equal(without.status, 401, path)
        assert.equal(without.headers.get('www-authenticate'), `Bearer ${METADATA}`)
        assert.equal(bad.status, 401, path)
        assert.equal(
          bad.headers.get('www-authenticate'),
          `Bearer error="invalid_token", ${METADATA}`,
        )
      }
      const { body } = await api.get('/.well-known/oauth-protected-resource')
      assert.match(body.authorization_servers.join(), /^http:\/\/127\.0\.0\.1:\d+$/)
    })

    test('a registered user without the role is refused by every guarded endpoint', async () => {
      const { api, tokenFor } = guarded()
      const user = await tokenFor('ROLE_USER')
      const admin = await tokenFor('ROLE_ADMIN')

      for (const [method, path] of GUARDED) {
        const asUser = await api.request(method, path, { token: user })
        const asAdmin = await api.request(method, path, { token: admin })
        assert.deepEqual([asUser.status, asUser.body.code], [403, 'ACCESS_DENIED'], path)
        assert.ok(![401, 403].includes(asAdmin.status), `${path} ${asAdmin.status}`)
      }
    })

    test('with PAYMENTS_ROLE=ROLE_USER a token allows everything but refunds, retries and checks', async (t) => {
      const { api, tokenFor } = await startIssuer(t, engine, { PAYMENTS_ROLE: 'ROLE_USER' })
      const user = await tokenFor('ROLE_USER')
      const admin = await tokenFor('ROLE_USER', 'ROLE_ADMIN')

      for (const [method, path] of GUARDED) {
        const forbidden = FOR_ADMINS.some((other) => other[0] === method && other[1] === path)
        const asUser = await api.request(method, path, { token: user })
        const asAdmin = await api.request(method, path, { token: admin })
        assert.equal(asUser.status === 403, forbidden, `${path} ${asUser.status}`)
        assert.ok(![401, 403].includes(asAdmin.status), `${path} ${asAdmin.status}`)
      }
    })

    test('a denied caller gets at most one audit row a minute', async (t) => {
      const { api, tokenFor, payments } = await startIssuer(t, engine)
      const [user, admin] = [await tokenFor('ROLE_USER'), await tokenFor('ROLE_ADMIN')]
      const refund = () => api.post(`/api/payments/${UNKNOWN}/refund`, {}, { token: user })
      const denials = async () => {
        const { body } = await api.get('/api/audit', { token: admin })
        return body.content.map((row: Record<string, unknown>) => [
          row.event,
          row.actor,
          row.subject,
        ])
      }
      const row = ['ACCESS_DENIED', 'anna', 'POST /api/payments/:id/refund']

      await Promise.all([refund(), refund(), refund(), api.get('/api/audit', { token: user })])
      const [first, ...others] = await denials()
      assert.deepEqual([first[0], first[1], others], ['ACCESS_DENIED', 'anna', []])
      await payments.db.updateTable('leases').set({ until_ms: 0 }).execute()
      await refund()
      assert.deepEqual(await denials(), [row, first])
    })

    test('a user who was disabled or lost the role at the issuer is refused within 10 s', async (t) => {
      const key = { PAYMENTS_REQUIRE_ISSUER_KEY: 'plk_test_x' }
      const { api, tokenFor, clock, answer } = await startIssuer(t, engine, key)
      const token = await tokenFor('ROLE_ADMIN')
      const status = async () => (await api.get('/api/payments', { token })).status

      assert.equal(await status(), 200)
      answer.body = { ...answer.body, roles: ['ROLE_USER'] }
      clock.advance(10)
      assert.equal(await status(), 403)
      answer.body = { ...answer.body, active: false }
      clock.advance(10)
      assert.equal(await status(), 401)
      answer.status = 500
      clock.advance(10)
      const path = `/api/payments/${UNKNOWN}/refund`
      const refund = await api.post(path, { reference: 'r1' }, { token })
      assert.deepEqual([refund.status, refund.body.code], [503, 'ISSUER_UNAVAILABLE'])
    })

    test('the name of a user erased at the issuer is replaced, and the audit events are kept', async (t) => {
      const key = { PAYMENTS_REQUIRE_ISSUER_KEY: 'plk_test_x' }
      const service = await startIssuer(t, engine, key)
      const { api, tokenFor, clock, answer, deleted, startNode } = service
      let token = await tokenFor('ROLE_ADMIN')
      const shop = { name: 'shop', scopes: ['payments:read'] }
      const { body: made } = await api.post('/api/service-keys', shop, { token })
      const keyStatus = async () =>
        (await api.get(`/api/payments/${UNKNOWN}`, { token: made.secret })).status
      assert.equal(await keyStatus(), 404)
      const endpoint = { url: 'http://localhost:9/' }
      assert.equal((await api.post('/api/webhooks/endpoints', endpoint, { token })).status, 201)
      const texts = async () => {
        const paths = ['/api/audit', '/api/service-keys', '/api/webhooks/endpoints']
        const replies = await Promise.all(paths.map((path) => api.get(path, { token })))
        return replies.map(({ body }) => JSON.stringify(body))
      }
      for (const text of await texts()) assert.match(text, /"anna"/)

      deleted.push({ id: 1, deletedAt: clock().toISOString() })
      clock.advance(1_001)
      answer.body = { ...answer.body, username: 'berta' }
      token = await tokenFor('ROLE_ADMIN')
      await startNode()

      const forgotten = await until(texts, (all) => !all.join().includes('anna'))
      for (const text of forgotten) assert.match(text, /"user 1"/)
      assert.equal(await keyStatus(), 401, 'the key of an erased user still works')
    })

    test('an expired token is 401', async () => {
      const { api, tokenFor, clock } = guarded()
      const token = await tokenFor('ROLE_ADMIN')
      clock.advance(900)

      assert.equal((await api.get(`/api/payments/${UNKNOWN}`, { token })).status, 401)
    })

    test('configuration, webhook, health and console stay public', async () => {
      const { api, deliver } = guarded()
      const event = { id: 'evt_1', type: 'customer.created', data: { object: { id: 'cus_1' } } }

      assert.equal((await api.get('/api/configuration')).status, 200)
      assert.equal((await deliver(event)).status, 200)
      assert.equal((await api.get('/actuator/health')).status, 200)
      assert.equal((await api.get('/api-test/index.html')).status, 200)
    })
  })
