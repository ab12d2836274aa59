import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engines, sharedIdentity, startIdentity, startWithAlice } from './start-identity.ts'

const CEREMONIES: [method: string, path: string][] = [
  ['POST', '/webauthn/register/options'],
  ['POST', '/webauthn/register'],
  ['DELETE', '/webauthn/register/AAAA'],
  ['POST', '/webauthn/authenticate/options'],
  ['POST', '/login/webauthn'],
]

for (const engine of engines) {
  describe(`GET /webauthn/csrf on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })

    test('returns the token with the names to send it under, and sets it as a cookie', async () => {
      const { status, body, headers } = await identity().api.get('/webauthn/csrf')

      assert.equal(status, 200)
      const { token, ...rest } = body
      assert.deepEqual(rest, { headerName: 'X-XSRF-TOKEN', parameterName: '_csrf' })
      assert.equal(headers.get('set-cookie'), `XSRF-TOKEN=${token}; Path=/; SameSite=Strict`)
    })

    test('returns the token that the browser already has', async () => {
      const { api } = identity()
      const { body: first } = await api.get('/webauthn/csrf')

      const cookie = `a=b; XSRF-TOKEN=${first.token}`
      const { body: second } = await api.get('/webauthn/csrf', { headers: { cookie } })
      const { body: third } = await api.get('/webauthn/csrf')

      assert.equal(second.token, first.token)
      assert.notEqual(third.token, first.token)
    })

    test('marks the cookie Secure behind an https proxy', async (t) => {
      const env = { IDENTITY_TRUSTED_PROXIES: '127.0.0.1' }
      const { api } = await startIdentity(t, { engine, env })

      const { headers } = await api.get('/webauthn/csrf', {
        headers: { 'x-forwarded-proto': 'https' },
      })

      assert.match(headers.get('set-cookie') ?? '', /; Secure$/)
    })
  })

  describe(`the ceremony CSRF token on ${engine.name}`, engine.options, () => {
    for (const [method, path] of CEREMONIES) {
      test(`is required by ${method} ${path}, before the caller and the body are checked`, async (t) => {
        const { api, token, clock } = await startWithAlice(t, { engine })
        const { body: good } = await api.get('/webauthn/csrf')
        const { body: other } = await api.get('/webauthn/csrf')
        const send = (headers: Record<string, string>) =>
          api.request(method, path, { token, headers })
        const refused: Record<string, Record<string, string>> = {
          missing: {},
          empty: { 'x-xsrf-token': '' },
          forged: { 'x-xsrf-token': 'abc' },
          altered: { 'x-xsrf-token': `${good.token}x` },
          'with a later time': { 'x-xsrf-token': good.token.replace(/\.\d+\./, '.9999999999.') },
          'of another browser': {
            'x-xsrf-token': good.token,
            cookie: `XSRF-TOKEN=${other.token}`,
          },
          'only in the cookie': { cookie: `XSRF-TOKEN=${good.token}` },
        }

        for (const [reason, headers] of Object.entries(refused)) {
          const { status, body } = await send(headers)
          assert.deepEqual([status, body.code], [403, 'CSRF_TOKEN_INVALID'], reason)
        }
        for (const name of ['x-xsrf-token', 'X-CSRF-TOKEN']) {
          const { body } = await send({ [name]: good.token, cookie: `XSRF-TOKEN=${good.token}` })
          assert.notEqual(body.code, 'CSRF_TOKEN_INVALID')
        }
        clock.advance(3600)
        assert.equal((await send({ 'x-xsrf-token': good.token })).status, 403)
      })
    }

    test('does not replace a required Bearer token, and vice versa', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const { body: csrf } = await api.get('/webauthn/csrf')
      const headers = { 'x-xsrf-token': csrf.token }

      for (const [method, path] of CEREMONIES.slice(0, 3)) {
        assert.equal((await api.request(method, path, { headers })).status, 401)
        assert.equal((await api.request(method, path, { token })).status, 403)
      }
    })

    test('is valid on every node with the same master key', async (t) => {
      const [one, two] = [await startIdentity(t, { engine }), await startIdentity(t, { engine })]
      const { body: csrf } = await one.api.get('/webauthn/csrf')

      const reply = await two.api.post('/webauthn/authenticate/options', undefined, {
        headers: { 'x-xsrf-token': csrf.token },
      })

      assert.equal(reply.status, 200)
    })
  })

  describe(`a malformed passkey body on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const nonsense: unknown[] = [
      undefined,
      null,
      [],
      'text',
      5,
      {},
      { publicKey: null },
      { publicKey: { credential: {}, label: 'x' } },
      { publicKey: { credential: { response: 5 }, label: 'x' } },
      { publicKey: { credential: { id: 1, response: { clientDataJSON: 'AAAA' } }, label: 'x' } },
      { id: 'AAAA', rawId: 'AAAA', type: 'public-key', response: null },
      { id: 'AA\u0000A', response: {} },
      { id: 'AAAA', response: { clientDataJSON: 7 } },
      { id: 'AAAA', response: { clientDataJSON: '!!!!' } },
      { id: 'AAAA', response: { clientDataJSON: Buffer.from('null').toString('base64url') } },
      {
        id: 'AAAA',
        response: { clientDataJSON: Buffer.from('{"challenge":"x"}').toString('base64url') },
      },
    ]

    test('is 400 at registration and 401 at login, never 5xx', async () => {
      const { api, token } = identity()
      const { body: csrf } = await api.get('/webauthn/csrf')
      const headers = { 'x-xsrf-token': csrf.token }

      for (const body of nonsense) {
        const added = await api.post('/webauthn/register', body, { token, headers })
        const login = await api.post('/login/webauthn', body, { headers })
        assert.equal(added.status, 400, JSON.stringify(body))
        assert.equal(login.status, 401, JSON.stringify(body))
      }
    })

    test('is 400 when the attestation is not CBOR', async () => {
      const { api, token } = identity()
      const { body: csrf } = await api.get('/webauthn/csrf')
      const headers = { 'x-xsrf-token': csrf.token }
      for (const attestationObject of ['', 'AAAA', 'o2NmbXQ', 5, null, {}]) {
        const { body: options } = await api.post(
          '/webauthn/register/options',
          {},
          { token, headers },
        )
        const clientDataJSON = Buffer.from(
          JSON.stringify({
            type: 'webauthn.create',
            challenge: options.challenge,
            origin: 'http://localhost:8081',
          }),
        ).toString('base64url')
        const credential = {
          id: 'AAAA',
          rawId: 'AAAA',
          type: 'public-key',
          response: { attestationObject, clientDataJSON },
        }

        const body = { publicKey: { credential, label: 'x' } }
        assert.equal((await api.post('/webauthn/register', body, { token, headers })).status, 400)
      }
    })
  })

  describe(`with IDENTITY_PASSKEYS=off on ${engine.name}`, engine.options, () => {
    test('the ceremonies answer 403; the list and the CSRF token still work', async (t) => {
      const { api, token } = await startWithAlice(t, { engine, env: { IDENTITY_PASSKEYS: 'off' } })

      for (const [method, path] of CEREMONIES) {
        const { status, body } = await api.request(method, path, { token })
        assert.deepEqual([status, body.code], [403, 'PASSKEYS_DISABLED'], path)
        assert.equal(body.detail, 'Passkeys are switched off on this server.')
      }
      for (const type of ['application/json', 'text/plain']) {
        const faulty = { headers: { 'content-type': type }, body: '{' }
        assert.equal((await api.request('POST', '/login/webauthn', faulty)).status, 403, type)
      }
      const csrf = await api.get('/webauthn/csrf')
      assert.deepEqual([csrf.status, csrf.body.headerName], [200, 'X-XSRF-TOKEN'])
      assert.deepEqual((await api.get('/api/users/me/passkeys', { token })).body, [])
      assert.equal((await api.get('/api/users/me/passkeys')).status, 401)
    })
  })
}
