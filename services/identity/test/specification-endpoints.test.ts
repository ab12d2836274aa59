import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, bothEngines, sharedIdentity } from './start-identity.ts'

// One test for each row of the specification's tables, in the same order and words.
for (const engine of bothEngines) {
  describe(`the specification's endpoints on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const logIn = async () => (await identity().api.post('/api/auth/login', ALICE)).body
    const post = (path: string, body: object, options = {}) =>
      identity().api.post(path, body, options)

    describe('the authentication endpoints', () => {
      test('POST /api/auth/register, public: created user', async () => {
        const bob = { username: 'bob', email: 'bob@localhost', password: ALICE.password }

        const { status, body } = await post('/api/auth/register', bob)

        assert.deepEqual([status, body.username, body.enabled], [201, 'bob', true])
      })

      test('POST /api/auth/login, public: token pair', async () => {
        const { status, body } = await post('/api/auth/login', ALICE)

        assert.deepEqual([status, Object.keys(body)], [200, PAIR])
      })

      test('POST /api/auth/refresh, public: new token pair; the presented token is rotated and cannot be used again', async () => {
        const { refreshToken } = await logIn()

        const { status, body } = await post('/api/auth/refresh', { refreshToken })

        assert.deepEqual([status, Object.keys(body)], [200, PAIR])
        assert.equal((await post('/api/auth/refresh', { refreshToken })).status, 401)
      })

      test('POST /api/auth/logout, Bearer JWT: invalidates that refresh-token session', async () => {
        const [{ refreshToken, accessToken }, other] = [await logIn(), await logIn()]

        assert.equal((await post('/api/auth/logout', { refreshToken })).status, 401)
        const { status } = await post('/api/auth/logout', { refreshToken }, { token: accessToken })

        assert.equal(status, 200)
        assert.equal((await post('/api/auth/refresh', { refreshToken })).status, 401)
        const { refreshToken: alive } = other
        assert.equal((await post('/api/auth/refresh', { refreshToken: alive })).status, 200)
      })
    })

    describe('the user endpoints', () => {
      test('GET /api/users/me, Bearer JWT: returns the profile of the user in the access token', async () => {
        const { api, token } = identity()

        assert.equal((await api.get('/api/users/me')).status, 401)
        assert.equal((await api.get('/api/users/me', { token })).body.username, 'alice')
      })

      test('GET /api/users, ROLE_ADMIN: returns a pageable list of users', async () => {
        const { api, token } = identity()

        assert.equal((await api.get('/api/users')).status, 401)
        assert.equal((await api.get('/api/users', { token })).status, 403)
        const { status, body } = await api.get('/api/users?page=1&size=2', {
          token: await adminToken(api),
        })
        assert.equal(status, 200)
        assert.deepEqual([body.number, body.size, body.content[0].username], [1, 2, 'alice'])
      })

      test('GET /api/users/me/passkeys, Bearer JWT: lists passkey metadata of the current user', async () => {
        const { api, token } = identity()

        assert.equal((await api.get('/api/users/me/passkeys')).status, 401)
        const { status, body } = await api.get('/api/users/me/passkeys', { token })
        assert.deepEqual([status, body], [200, []])
      })
    })

    describe('the passkey endpoints', () => {
      const csrf = async () => (await startPasskeyClient(identity().api)).headers

      test('GET /webauthn/csrf, public: creates or reads the ceremony CSRF token', async () => {
        const { api } = identity()
        const { status, body: made } = await api.get('/webauthn/csrf')

        const headers = { cookie: `XSRF-TOKEN=${made.token}` }
        const { body: read } = await api.get('/webauthn/csrf', { headers })

        assert.deepEqual([status, read.token], [200, made.token])
      })

      test('POST /webauthn/register/options, Bearer JWT + CSRF: creates registration options', async () => {
        const { token } = identity()
        const [path, headers] = ['/webauthn/register/options', await csrf()]

        assert.equal((await post(path, {}, { token })).status, 403)
        assert.equal((await post(path, {}, { headers })).status, 401)
        const { status, body } = await post(path, {}, { token, headers })
        assert.deepEqual([status, body.rp.id, body.user.name], [200, 'localhost', 'alice'])
      })

      test('POST /webauthn/register, Bearer JWT + CSRF: completes registration with a browser attestation', async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)

        const credential = client.authenticator.create(await client.registrationOptions(token))
        const body = { publicKey: { credential, label: 'phone' } }
        const [path, { headers }] = ['/webauthn/register', client]

        assert.equal((await post(path, body, { token })).status, 403)
        assert.equal((await post(path, body, { headers })).status, 401)
        assert.equal((await post(path, body, { token, headers })).status, 200)
      })

      test('DELETE /webauthn/register/{credentialId}, owner + CSRF: deletes a credential owned by the caller', async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)
        await client.register(token)
        const remove = async (options: object) =>
          (await api.delete(`/webauthn/register/${client.authenticator.id}`, options)).status
        const { headers } = client

        assert.equal(await remove({ token }), 403)
        assert.equal(await remove({ headers }), 401)
        assert.equal(await remove({ token: await adminToken(api), headers }), 403)
        assert.equal(await remove({ token, headers }), 204)
      })

      test('POST /webauthn/authenticate/options, public + CSRF: creates authentication options', async () => {
        const path = '/webauthn/authenticate/options'

        assert.equal((await post(path, {})).status, 403)
        const { status, body } = await post(path, {}, { headers: await csrf() })
        assert.deepEqual([status, body.rpId], [200, 'localhost'])
      })

      test('POST /login/webauthn, public + CSRF: completes authentication and returns the token pair', async () => {
        const { api, token } = identity()
        const client = await startPasskeyClient(api)
        await client.register(token)
        const assertion = client.authenticator.get(await client.authenticationOptions())

        assert.equal((await post('/login/webauthn', assertion)).status, 403)
        const { status, body } = await client.present(assertion)

        assert.deepEqual([status, Object.keys(body)], [200, PAIR])
        const { headers } = client
        const me = await api.get('/api/users/me', { token: body.accessToken, headers })
        assert.equal(me.body.username, 'alice')
      })
    })

    describe('the operational endpoints', () => {
      const pages: [path: string, purpose: string, status: number, shows: RegExp][] = [
        ['/actuator', 'discovery links', 200, /"_links"/],
        ['/actuator/health', 'health information', 200, /"status":"UP"/],
        ['/actuator/info', 'application information', 200, /"version":"2\.0\.0"/],
        ['/api-test', 'redirect to the browser console', 302, /^$/],
      ]
      for (const [path, purpose, status, shows] of pages) {
        test(`GET ${path}, public: ${purpose}`, async () => {
          const reply = await identity().api.get(path)

          assert.equal(reply.status, status)
          assert.match(reply.bytes.toString(), shows)
        })
      }
    })
  })
}

const PAIR = [
  'accessToken',
  'refreshToken',
  'tokenType',
  'expiresInSeconds',
  'refreshTokenExpiresInSeconds',
]
