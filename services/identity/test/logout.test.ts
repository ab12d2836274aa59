import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

for (const engine of engines) {
  describe(`POST /api/auth/logout on ${engine.name}`, engine.options, () => {
    test('revokes the session of the refresh token; the access token stays valid until it expires', async (t) => {
      const { api, clock, pair, token } = await startWithAlice(t, { engine })
      const { refreshToken } = pair

      const { status, body } = await api.post('/api/auth/logout', { refreshToken }, { token })

      assert.equal(status, 200)
      assert.equal(typeof body.message, 'string')
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
      assert.equal((await api.get('/api/users/me', { token })).status, 200)
      clock.advance(900)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
    })

    test('revokes only the session of the refresh token', async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })
      const { body: other } = await api.post('/api/auth/login', ALICE)

      await api.post('/api/auth/logout', { refreshToken: other.refreshToken }, { token })

      const refresh = async (refreshToken: string) =>
        (await api.post('/api/auth/refresh', { refreshToken })).status
      assert.equal(await refresh(other.refreshToken), 401)
      assert.equal(await refresh(pair.refreshToken), 200)
    })

    test("changes nothing for another user's, an unknown or a rotated token, and still answers 200", async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const { body: second } = await api.post('/api/auth/refresh', {
        refreshToken: pair.refreshToken,
      })
      const logOut = (refreshToken: string, as: string) =>
        api.post('/api/auth/logout', { refreshToken }, { token: as })

      const foreign = await logOut(second.refreshToken, admin)
      const unknown = await logOut('unknown', token)
      const rotated = await logOut(pair.refreshToken, token)

      assert.deepEqual([foreign.status, unknown.status, rotated.status], [200, 200, 200])
      assert.deepEqual(foreign.body, unknown.body)
      assert.deepEqual(rotated.body, unknown.body)
      const refreshed = await api.post('/api/auth/refresh', { refreshToken: second.refreshToken })
      assert.equal(refreshed.status, 200)
    })

    test('checks the Bearer token before the body', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      const missing = await api.post('/api/auth/logout', {})
      const bad = await api.post('/api/auth/logout', {}, { token: 'nonsense' })
      const wrongType = await api.request('POST', '/api/auth/logout', {
        headers: { 'content-type': 'text/plain' },
        body: 'x',
      })

      assert.deepEqual([missing.status, bad.status, wrongType.status], [401, 401, 401])
      assert.match(missing.headers.get('www-authenticate') ?? '', /^Bearer resource_metadata=/)
      assert.match(bad.headers.get('www-authenticate') ?? '', /^Bearer error="invalid_token"/)
    })

    test('refuses a blank or absent refresh token with 400', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })

      for (const body of [undefined, {}, { refreshToken: ' ' }, { refreshToken: null }])
        assert.equal((await api.post('/api/auth/logout', body, { token })).status, 400)
    })
  })
}
