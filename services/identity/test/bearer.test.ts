import assert from 'node:assert/strict'
import { createHmac, generateKeyPairSync, sign } from 'node:crypto'
import { describe, test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import { ALICE, engines, sharedIdentity } from './start-identity.ts'

const encode = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')

for (const engine of engines) {
  describe(`a Bearer token on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const statusFor = async (authorization: string | undefined, path = '/api/users/me') => {
      const headers: Record<string, string> = authorization ? { authorization } : {}
      return (await identity().api.get(path, { headers })).status
    }

    test('is verified by an independent implementation with the published keys', async () => {
      const { api, token, clock } = identity()

      const { body: keySet, headers } = await api.get('/.well-known/jwks.json')
      const { payload } = await jwtVerify(token, createLocalJWKSet(keySet), {
        issuer: 'http://localhost:8081',
        audience: 'plinth',
        typ: 'at+jwt',
        currentDate: clock(),
      })

      assert.equal(payload.username, 'alice')
      assert.equal(payload.exp, (payload.iat ?? 0) + 900)
      assert.match(headers.get('cache-control') ?? '', /max-age=600/)
      for (const key of keySet.keys) assert.ok(!('d' in key))
    })

    test('is required on every protected path', async () => {
      for (const path of ['/api/users/me', '/api/users', '/api/users/me/passkeys', '/api/audit'])
        assert.equal(await statusFor(undefined, path), 401)
    })

    test('is requested in WWW-Authenticate, with an error when it was invalid', async () => {
      const { api } = identity()

      const missing = await api.get('/api/users/me')
      const bad = await api.get('/api/users/me', { token: 'x' })

      const { config } = identity()
      const url = `${config.publicUrl}/.well-known/oauth-protected-resource`
      const metadata = `resource_metadata="${url}"`
      assert.equal(missing.headers.get('www-authenticate'), `Bearer ${metadata}`)
      const reason = `Bearer error="invalid_token", ${metadata}`
      assert.equal(bad.headers.get('www-authenticate'), reason)
      const { body } = await api.get('/.well-known/oauth-protected-resource')
      const server = await api.get('/.well-known/oauth-authorization-server')
      assert.deepEqual(body.authorization_servers, [server.body.issuer])
      assert.equal(bad.headers.get('content-type'), 'application/problem+json')
    })

    test('is ignored by every public endpoint', async () => {
      const { api } = identity()
      const { body: csrf } = await api.get('/webauthn/csrf', { token: 'nonsense' })
      const headers = { 'x-xsrf-token': csrf.token }
      const carol = { username: 'carol', email: 'carol@localhost', password: ALICE.password }
      const { body: pair } = await api.post('/api/auth/login', ALICE, { token: 'nonsense' })
      const { refreshToken } = pair
      const options = { token: 'nonsense', headers }

      const replies = [
        await api.post('/api/auth/register', carol, options),
        await api.post('/api/auth/refresh', { refreshToken }, options),
        await api.post('/webauthn/authenticate/options', {}, options),
        await api.get('/actuator/health', options),
        await api.get('/.well-known/jwks.json', options),
      ]

      assert.deepEqual(
        replies.map(({ status }) => status),
        [201, 200, 200, 200, 200],
      )
    })

    const hostile: Record<string, (token: string) => string> = {
      'nothing after Bearer': () => 'Bearer ',
      'another scheme': (token) => `Basic ${token}`,
      'two tokens': (token) => `Bearer ${token} ${token}`,
      'algorithm none': (token) =>
        `Bearer ${encode({ alg: 'none', typ: 'at+jwt' })}.${token.split('.')[1]}.`,
      'another key': (token) => {
        const { privateKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
        const signedPart = token.split('.').slice(0, 2).join('.')
        const options = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
        const signature = sign('sha256', Buffer.from(signedPart), options)
        return `Bearer ${signedPart}.${signature.toString('base64url')}`
      },
      'a symmetric signature': (token) => {
        const signedPart = `${encode({ alg: 'HS256', typ: 'at+jwt' })}.${token.split('.')[1]}`
        const mac = createHmac('sha256', 'secret').update(signedPart).digest('base64url')
        return `Bearer ${signedPart}.${mac}`
      },
      'altered claims': (token) => {
        const [head, payload = '', signature] = token.split('.')
        const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
        return `Bearer ${head}.${encode({ ...claims, sub: '1' })}.${signature}`
      },
      'another type': (token) => {
        const [head = '', ...rest] = token.split('.')
        const header = JSON.parse(Buffer.from(head, 'base64url').toString())
        return `Bearer ${[encode({ ...header, typ: 'JWT' }), ...rest].join('.')}`
      },
      'trailing bytes': (token) => `Bearer ${token}AA`,
      'a fourth segment': (token) => `Bearer ${token}.AA`,
      padding: (token) => `Bearer ${token}=`,
      'a non-canonical last letter': (token) => `Bearer ${token.slice(0, -1)}${flip(token)}`,
      'a refresh token': () => `Bearer ${identity().pair.refreshToken}`,
    }
    for (const [name, forge] of Object.entries(hostile)) {
      test(`is 401 with ${name}`, async () => {
        assert.equal(await statusFor(forge(identity().token)), 401)
      })
    }

    test('is accepted when it is unaltered', async () => {
      assert.equal(await statusFor(`Bearer ${identity().token}`), 200)
      assert.equal(await statusFor(`bearer ${identity().token}`), 200)
    })
  })
}

/** Decodes to the same bytes: only an unused bit of the last character differs. */
function flip(token: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_'
  return alphabet[alphabet.indexOf(token.at(-1) ?? '') ^ 1] ?? ''
}
