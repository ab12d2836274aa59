import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sharedIdentity } from './start-identity.ts'

for (const engine of engines) {
  describe(`operational endpoints on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })

    test('GET /actuator links to health and info with absolute URLs', async () => {
      const { api, baseUrl } = identity()

      const { status, body, headers } = await api.get('/actuator')

      assert.equal(status, 200)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(body, {
        _links: {
          self: { href: `${baseUrl}/actuator`, templated: false },
          health: { href: `${baseUrl}/actuator/health`, templated: false },
          'health-path': { href: `${baseUrl}/actuator/health/{*path}`, templated: true },
          info: { href: `${baseUrl}/actuator/info`, templated: false },
        },
      })
    })

    test('GET /actuator/health, /liveness and /readiness are UP', async () => {
      for (const path of ['', '/liveness', '/readiness']) {
        const { status, body } = await identity().api.get(`/actuator/health${path}`)
        assert.deepEqual([status, body], [200, { status: 'UP' }])
      }
    })

    test('GET /actuator/info names the application and version 2.0.0', async () => {
      const { body } = await identity().api.get('/actuator/info')

      assert.deepEqual(body, { app: { name: 'identity', version: '2.0.0' } })
    })

    test('GET /api-test redirects to the public console', async () => {
      const { api } = identity()

      const redirect = await api.get('/api-test')
      const page = await api.get(redirect.headers.get('location') ?? '')

      assert.equal(redirect.status, 302)
      assert.equal(redirect.headers.get('location'), '/api-test/index.html')
      assert.equal(page.status, 200)
      assert.match(page.headers.get('content-type') ?? '', /^text\/html/)
      assert.match(page.headers.get('content-security-policy') ?? '', /default-src 'none'/)
    })

    test('unknown paths are 404, other methods 405 with Allow', async () => {
      const { api } = identity()

      assert.equal((await api.get('/api/nothing')).status, 404)
      const wrongMethod = await api.get('/api/auth/login')
      assert.equal(wrongMethod.status, 405)
      assert.equal(wrongMethod.headers.get('allow'), 'POST')
    })

    test('every reply carries the security headers and the request id', async () => {
      const { headers } = await identity().api.get('/api/users/me', {
        headers: { 'x-request-id': 'given-1' },
      })

      assert.equal(headers.get('x-content-type-options'), 'nosniff')
      assert.equal(headers.get('x-frame-options'), 'DENY')
      assert.equal(headers.get('referrer-policy'), 'no-referrer')
      assert.equal(headers.get('x-request-id'), 'given-1')
    })
  })
}
