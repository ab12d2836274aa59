import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALICE, startIdentity, startWithAlice } from './start-identity.ts'

const IDENTITY_PUBLIC_URL = 'https://app.example/identity'

describe('identity at a public URL with a path', () => {
  for (const [proxy, base] of [
    ['strips it', ''],
    ['does not strip it', '/identity'],
  ] as const)
    test(`works behind a proxy that ${proxy}`, async (t) => {
      const { api, token } = await startWithAlice(t, { env: { IDENTITY_PUBLIC_URL } })

      const login = await api.post(`${base}/api/auth/login`, ALICE)
      const me = await api.get(`${base}/api/users/me`, { token })
      const refused = await api.get(`${base}/api/users/me?x=y`)
      const redirect = await api.get(`${base}/api-test`)
      const page = await api.get(`${base}/api-test/index.html`)
      const keys = await api.get(`${base}/.well-known/jwks.json`)
      const wrongMethod = await api.delete(`${base}/api/auth/login`)

      assert.deepEqual([login.status, me.status, page.status, keys.status], [200, 200, 200, 200])
      assert.equal(me.body.username, ALICE.username)
      assert.deepEqual([refused.status, refused.body.instance], [401, '/identity/api/users/me'])
      assert.equal(redirect.headers.get('location'), '/identity/api-test/index.html')
      assert.deepEqual([wrongMethod.status, wrongMethod.headers.get('allow')], [405, 'POST'])
    })

  test('uses that URL as the issuer of its tokens', async (t) => {
    const { token } = await startWithAlice(t, { env: { IDENTITY_PUBLIC_URL } })

    const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

    assert.equal(claims.iss, IDENTITY_PUBLIC_URL)
  })

  test('sets its cookie for that path, as Secure because the public URL is https', async (t) => {
    const { api } = await startIdentity(t, { env: { IDENTITY_PUBLIC_URL } })

    const { body, headers } = await api.get('/webauthn/csrf')

    assert.equal(
      headers.get('set-cookie'),
      `XSRF-TOKEN=${body.token}; Path=/identity; SameSite=Strict; Secure`,
    )
  })

  test('sets its cookie for the prefix sent by a trusted proxy', async (t) => {
    const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }
    const { api } = await startIdentity(t, { env })

    const headers = { 'x-forwarded-prefix': '/accounts' }
    const csrf = await api.get('/webauthn/csrf', { headers })
    const redirect = await api.get('/api-test', { headers })

    assert.match(csrf.headers.get('set-cookie') ?? '', /; Path=\/accounts; SameSite=Strict$/)
    assert.equal(redirect.headers.get('location'), '/accounts/api-test/index.html')
  })

  test('links to itself in the actuator', async (t) => {
    const { api, baseUrl } = await startIdentity(t, { env: { IDENTITY_PUBLIC_URL } })

    const { body } = await api.get('/actuator')

    assert.equal(body._links.health.href, `${baseUrl}/identity/actuator/health`)
    assert.equal((await fetch(body._links.health.href)).status, 200)
  })
})
