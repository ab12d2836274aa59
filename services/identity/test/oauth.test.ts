import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type { Api, TestEngine } from '@plinth/kit/testing'
import {
  ADMIN,
  ALICE,
  adminToken,
  engines,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }
const NOT_ACTIVE = { active: false }

type Started = Awaited<ReturnType<typeof start>>

/** Identity with alice signed in, and a service key that may introspect. */
async function start(t: TestContext, engine: TestEngine, env: Record<string, string> = {}) {
  const started = await startWithAlice(t, { engine, env })
  const key = await createKey(started.api, ['tokens:introspect'])
  return { ...started, key, ...callsOf(started.api, key.secret) }
}

function callsOf(api: Api, key: string) {
  const form = (path: string, fields: object, headers: Record<string, string> = {}) =>
    api.request('POST', path, {
      body: new URLSearchParams({ ...fields }).toString(),
      headers: { ...FORM, ...headers },
    })
  const introspect = async (token: string) => {
    const reply = await form('/oauth2/introspect', { token }, { authorization: `Bearer ${key}` })
    assert.equal(reply.status, 200, JSON.stringify(reply.body))
    return reply.body
  }
  return { form, introspect }
}

async function createKey(api: Api, scopes: string[]) {
  const token = await adminToken(api)
  const { status, body } = await api.post('/api/service-keys', { name: 'files', scopes }, { token })
  assert.equal(status, 201, JSON.stringify(body))
  return body as { id: number; secret: string }
}

const basic = (id: string | number, secret: string) => ({
  authorization: `Basic ${Buffer.from(`${id}:${secret}`).toString('base64')}`,
})

for (const engine of engines) {
  describe(`GET /.well-known/oauth-authorization-server on ${engine.name}`, engine.options, () => {
    test('lists the endpoints, and can be read by pages of any origin', async (t) => {
      const { api } = await startIdentity(t, {
        engine,
        env: { IDENTITY_PUBLIC_URL: 'https://shop.example/id' },
      })
      const base = 'https://shop.example/id'

      const reply = await api.get('/.well-known/oauth-authorization-server')

      assert.equal(reply.status, 200)
      assert.equal(reply.headers.get('access-control-allow-origin'), '*')
      assert.equal(reply.headers.get('cache-control'), 'public, max-age=300')
      assert.deepEqual(reply.body, {
        issuer: base,
        jwks_uri: `${base}/.well-known/jwks.json`,
        token_endpoint: `${base}/oauth2/token`,
        token_endpoint_auth_methods_supported: [
          'client_secret_basic',
          'client_secret_post',
          'private_key_jwt',
          'none',
        ],
        token_endpoint_auth_signing_alg_values_supported: ['RS256', 'PS256', 'ES256', 'EdDSA'],
        authorization_endpoint: `${base}/oauth2/authorize`,
        userinfo_endpoint: `${base}/oauth2/userinfo`,
        end_session_endpoint: `${base}/oauth2/logout`,
        device_authorization_endpoint: `${base}/oauth2/device_authorization`,
        pushed_authorization_request_endpoint: `${base}/oauth2/par`,
        require_pushed_authorization_requests: false,
        grant_types_supported: [
          ...['authorization_code', 'refresh_token'],
          'urn:ietf:params:oauth:grant-type:device_code',
          'client_credentials',
        ],
        response_types_supported: ['code'],
        response_modes_supported: ['query', 'form_post'],
        code_challenge_methods_supported: ['S256'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256', 'ES256'],
        claims_supported: [
          ...['sub', 'iss', 'aud', 'exp', 'iat', 'auth_time', 'nonce', 'sid', 'amr', 'acr'],
          ...['at_hash', 'name', 'preferred_username', 'email', 'email_verified', 'roles'],
        ],
        acr_values_supported: ['urn:plinth:1fa', 'urn:plinth:2fa'],
        prompt_values_supported: ['none', 'login', 'consent', 'select_account', 'create'],
        ui_locales_supported: ['en', 'de', 'es'],
        authorization_response_iss_parameter_supported: true,
        backchannel_logout_supported: true,
        backchannel_logout_session_supported: true,
        request_parameter_supported: false,
        request_uri_parameter_supported: false,
        claims_parameter_supported: false,
        scopes_supported: [
          ...['openid', 'profile', 'email', 'roles', 'offline_access'],
          'tokens:introspect',
          'users:read',
          'users:write',
          'events:read',
          'webhooks:write',
        ],
        introspection_endpoint: `${base}/oauth2/introspect`,
        introspection_endpoint_auth_methods_supported: ['client_secret_basic', 'Bearer'],
        revocation_endpoint: `${base}/oauth2/revoke`,
        revocation_endpoint_auth_methods_supported: ['none'],
        service_documentation: `${base}/api-test`,
      })
      const below = await api.get('/.well-known/oauth-authorization-server/id')
      assert.deepEqual(below.body, reply.body)
      const openid = await api.get('/.well-known/openid-configuration')
      assert.deepEqual(openid.body, reply.body)
      const keys = await api.get('/.well-known/jwks.json')
      assert.equal(keys.headers.get('access-control-allow-origin'), '*')
    })
  })

  describe(`a body that is not a form on ${engine.name}`, engine.options, () => {
    test('is 415, and the error says that a form is expected', async (t) => {
      const { api, key, token } = await start(t, engine)

      const { status, body } = await api.post(
        '/oauth2/introspect',
        { token },
        { token: key.secret },
      )

      assert.deepEqual([status, body.error], [415, 'invalid_request'])
      const expected = "Send the body as 'Content-Type: application/x-www-form-urlencoded'."
      assert.equal(body.error_description, expected)
    })
  })

  describe(`a gzip-compressed form on ${engine.name}`, engine.options, () => {
    test('is 415 with an error body as in RFC 6749', async (t) => {
      const { api, key, token } = await start(t, engine)

      const { status, body } = await api.request('POST', '/oauth2/introspect', {
        headers: { ...FORM, 'content-encoding': 'gzip' },
        body: gzipSync(new URLSearchParams({ token }).toString()),
        token: key.secret,
      })

      assert.deepEqual([status, body.error], [415, 'invalid_request'])
    })
  })

  describe(`GET /api/users/{id}/status on ${engine.name}`, engine.options, () => {
    test('tells keys that may introspect whether a user is enabled', async (t) => {
      const { api, key, token: user, userId } = await start(t, engine)
      const { secret: other } = await createKey(api, ['users:read'])
      const admin = await adminToken(api)
      const ask = async (token: string, id: number | string = userId) => {
        const { status, body } = await api.get(`/api/users/${id}/status`, { token })
        return [status, body.code ?? body]
      }

      assert.deepEqual(await ask(key.secret), [200, { enabled: true }])
      assert.deepEqual(await ask(user), [403, 'ACCESS_DENIED'])
      assert.deepEqual(await ask(other), [403, 'INSUFFICIENT_SCOPE'])
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })
      assert.deepEqual(await ask(key.secret), [200, { enabled: false }])
      for (const id of [999, 'anna'])
        assert.deepEqual(await ask(key.secret, id), [404, 'USER_NOT_FOUND'])
    })
  })

  describe(`POST /oauth2/introspect on ${engine.name}`, engine.options, () => {
    test('describes a valid access token', async (t) => {
      const { token, userId, introspect, config } = await start(t, engine)
      const claims = JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString())

      assert.deepEqual(await introspect(token), {
        active: true,
        token_type: 'Bearer',
        scope: 'ROLE_USER',
        client_id: 'plinth',
        username: 'alice',
        roles: ['ROLE_USER'],
        sub: String(userId),
        sid: claims.sid,
        iss: config.accounts.issuer,
        aud: 'plinth',
        iat: claims.iat,
        nbf: claims.iat,
        exp: claims.iat + 900,
        jti: claims.jti,
        amr: ['pwd'],
        auth_time: claims.iat,
      })
    })

    test('reports only that any other token is not active', async (t) => {
      const { introspect, token, pair, clock } = await start(t, engine)
      const dot = token.lastIndexOf('.') + 5
      const forged = token.slice(0, dot) + (token[dot] === 'a' ? 'b' : 'a') + token.slice(dot + 1)

      for (const other of ['x', 'a.b.c', forged, pair.refreshToken, 'x'.repeat(9000)])
        assert.deepEqual(await introspect(other), NOT_ACTIVE, other)
      clock.advance(900)
      assert.deepEqual(await introspect(token), NOT_ACTIVE)
    })

    for (const [how, end] of Object.entries<(started: Started) => Promise<{ status: number }>>({
      'that was logged out': ({ api, token, pair }) =>
        api.post('/api/auth/logout', { refreshToken: pair.refreshToken }, { token }),
      'that was ended by its owner': async ({ api, token }) => {
        const { body } = await api.get('/api/users/me/sessions', { token })
        return api.delete(`/api/users/me/sessions/${body[0].id}`, { token })
      },
      'whose user was disabled': async ({ api, userId }) =>
        api.patch(`/api/users/${userId}`, { enabled: false }, { token: await adminToken(api) }),
    }))
      test(`a token of a session ${how} is not active, on another node too`, async (t) => {
        const started = await start(t, engine)
        const { config, clock, key, token, introspect } = started
        const env = { IDENTITY_DATABASE_URL: config.databaseUrl }
        const other = callsOf((await startIdentity(t, { clock, env })).api, key.secret)
        assert.equal((await other.introspect(token)).active, true)

        const { status } = await end(started)

        assert.ok(status < 300, String(status))
        assert.deepEqual(await introspect(token), NOT_ACTIVE)
        assert.deepEqual(await other.introspect(token), NOT_ACTIVE)
      })

    test('does not return a role that was removed', async (t) => {
      const { api, introspect, userId, token } = await start(t, engine)
      const admin = await adminToken(api)
      const roles = ['ROLE_ADMIN', 'ROLE_USER']
      await api.patch(`/api/users/${userId}`, { roles }, { token: admin })
      assert.deepEqual((await introspect(token)).roles, roles)

      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_USER'] }, { token: admin })

      assert.deepEqual((await introspect(token)).roles, ['ROLE_USER'])
    })

    test('a token for another audience is not active', async (t) => {
      const { config, clock, introspect } = await start(t, engine)
      const env = {
        IDENTITY_DATABASE_URL: config.databaseUrl,
        IDENTITY_TOKEN_AUDIENCE: 'elsewhere',
      }
      const elsewhere = await startIdentity(t, { clock, env })
      const { body } = await elsewhere.api.post('/api/auth/login', ALICE)

      assert.deepEqual(await introspect(body.accessToken), NOT_ACTIVE)
    })

    test('requires a service key with the scope, as Bearer or Basic', async (t) => {
      const { api, form, key, token } = await start(t, engine)
      const without = await createKey(api, ['users:read'])
      const ask = (headers: Record<string, string>) =>
        form('/oauth2/introspect', { token }, headers)

      assert.equal((await ask(basic(key.id, key.secret))).body.active, true)
      assert.equal((await ask(basic(`key-${key.id}`, key.secret))).body.active, true)
      for (const headers of [
        {},
        { authorization: `Bearer ${token}` },
        { authorization: `Bearer ${without.secret}` },
        basic(key.id, 'nonsense'),
        basic(without.id, key.secret),
        { authorization: 'Basic' },
      ] as Record<string, string>[]) {
        const reply = await ask(headers)
        assert.deepEqual([reply.status, reply.body.error], [401, 'invalid_client'])
        assert.deepEqual(Object.keys(reply.body), ['error', 'error_description'])
      }
      const refused = await ask({ authorization: `Bearer ${without.secret}` })
      assert.match(refused.headers.get('www-authenticate') ?? '', /scope="tokens:introspect"/)
    })

    test('is 400 without a token or with two, 405 for GET, and never cached', async (t) => {
      const { api, key } = await start(t, engine)
      const headers = { ...FORM, authorization: `Bearer ${key.secret}` }
      for (const body of ['', 'token=', 'token=a&token=b']) {
        const reply = await api.request('POST', '/oauth2/introspect', { body, headers })
        assert.deepEqual([reply.status, reply.body.error], [400, 'invalid_request'], body)
      }

      assert.equal((await api.get('/oauth2/introspect')).status, 405)
      const body = 'token=x&token_type_hint=refresh_token'
      const reply = await api.request('POST', '/oauth2/introspect', { body, headers })
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      const large = { body: `token=${'x'.repeat(17_000)}`, headers }
      assert.equal((await api.request('POST', '/oauth2/introspect', large)).status, 413)
    })
  })

  describe(`POST /oauth2/revoke on ${engine.name}`, engine.options, () => {
    test('ends the session for either token, whatever the hint says', async (t) => {
      const { api, form, introspect } = await start(t, engine)
      for (const name of ['accessToken', 'refreshToken'] as const) {
        const { body: pair } = await api.post('/api/auth/login', ALICE)
        const { accessToken: token, refreshToken } = pair
        const fields = { token: pair[name], token_type_hint: 'nonsense' }

        assert.equal((await form('/oauth2/revoke', fields)).status, 200)

        assert.equal((await api.get('/api/users/me', { token })).status, 401)
        assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
        assert.deepEqual(await introspect(token), NOT_ACTIVE)
      }
    })

    test('is 200 for an unknown or rotated token, which changes nothing, and 400 without a token', async (t) => {
      const { api, form, pair } = await start(t, engine)
      const { body: next } = await api.post('/api/auth/refresh', pair)

      for (const token of ['unknown', pair.refreshToken])
        assert.equal((await form('/oauth2/revoke', { token })).status, 200)
      assert.equal((await api.get('/api/users/me', { token: next.accessToken })).status, 200)
      const missing = await form('/oauth2/revoke', {})
      assert.deepEqual([missing.status, missing.body.error], [400, 'invalid_request'])
    })

    test('leaves a single audit row for ten concurrent requests', async (t) => {
      const { api, form, pair } = await start(t, engine)
      const fields = { token: pair.refreshToken }

      await Promise.all(Array.from({ length: 10 }, () => form('/oauth2/revoke', fields)))

      const { body } = await api.get('/api/audit?size=100', { token: await adminToken(api) })
      const rows = body.content.filter(
        ({ event }: { event: string }) => event === 'SESSION_REVOKED',
      )
      assert.deepEqual(
        rows.map(({ actor }: { actor: string }) => actor),
        ['alice'],
      )
    })
  })

  describe(`POST /oauth2/token on ${engine.name}`, engine.options, () => {
    const GRANT = { grant_type: 'client_credentials' }

    test('issues a token for 15 minutes to a service key, which ends with the key', async (t) => {
      const { api, form, introspect } = await start(t, engine)
      const { id, secret } = await createKey(api, ['users:read', 'users:write'])

      const { status, body } = await form('/oauth2/token', GRANT, basic(id, secret))

      assert.equal(status, 200)
      const { access_token: token, ...rest } = body
      const scope = 'users:read users:write'
      assert.deepEqual(rest, { token_type: 'Bearer', expires_in: 900, scope })
      const known = await introspect(token)
      assert.deepEqual([known.active, known.scope, known.sub], [true, scope, `key-${id}`])
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      const revoked = await form('/oauth2/revoke', { token })
      assert.deepEqual([revoked.status, revoked.body.error], [400, 'unsupported_token_type'])
      await api.delete(`/api/service-keys/${id}`, { token: await adminToken(api) })
      assert.deepEqual(await introspect(token), NOT_ACTIVE)
    })

    test('issues a token that opens the calls its scope names, and no others', async (t) => {
      const { api, form, clock } = await start(t, engine)
      const { id, secret } = await createKey(api, ['users:read', 'users:write', 'events:read'])
      const asked = { ...GRANT, scope: 'users:read events:read' }
      const { body } = await form('/oauth2/token', asked, basic(id, secret))
      const token = body.access_token
      const status = async (path: string) => (await api.get(path, { token })).status

      assert.equal(await status('/api/users'), 200)
      assert.equal(await status('/api/events'), 200)
      const patched = await api.patch('/api/users/1', { enabled: true, reason: 'x' }, { token })
      assert.deepEqual([patched.status, patched.body.code], [403, 'INSUFFICIENT_SCOPE'])
      const unscoped = await api.get('/api/service-keys', { token })
      assert.deepEqual([unscoped.status, unscoped.body.code], [401, 'INVALID_ACCESS_TOKEN'])
      assert.match(unscoped.body.detail, /no scope .* Send the access token of a user instead\.$/)
      const again = await form('/oauth2/token', GRANT, { authorization: `Bearer ${token}` })
      assert.equal(again.status, 401)
      const forged = `${token.slice(0, -4)}AAAA`
      assert.equal((await api.get('/api/users', { token: forged })).status, 401)
      clock.advance(900)
      assert.equal(await status('/api/users'), 401)
      const { body: fresh } = await form('/oauth2/token', asked, basic(id, secret))
      await api.delete(`/api/service-keys/${id}`, { token: await adminToken(api) })
      assert.equal((await api.get('/api/users', { token: fresh.access_token })).status, 401)
    })

    test('the token of a program ends after 15 minutes, to the second', async (t) => {
      const { api, clock, form, introspect } = await start(t, engine)
      const { id, secret } = await createKey(api, ['users:read'])
      const { body } = await form('/oauth2/token', GRANT, basic(id, secret))
      const issuedAt = Math.floor(clock().getTime() / 1000)

      const { iat, exp } = await introspect(body.access_token)
      clock.advance(899)
      const last = await introspect(body.access_token)
      clock.advance(1)

      assert.deepEqual([iat, exp], [issuedAt, issuedAt + 900])
      assert.equal(last.active, true)
      assert.deepEqual(await introspect(body.access_token), NOT_ACTIVE)
    })

    test('accepts the key in the form, and narrows the scope', async (t) => {
      const { api, form } = await start(t, engine)
      const { id, secret } = await createKey(api, ['users:read', 'users:write'])
      const client = { client_id: String(id), client_secret: secret }

      const narrow = await form('/oauth2/token', { ...GRANT, ...client, scope: 'users:read' })
      const wide = await form('/oauth2/token', { ...GRANT, ...client, scope: 'tokens:introspect' })

      assert.deepEqual([narrow.status, narrow.body.scope], [200, 'users:read'])
      assert.deepEqual([wide.status, wide.body.error], [400, 'invalid_scope'])
    })

    test('refuses other grants and other clients', async (t) => {
      const { form, key } = await start(t, engine)
      const client = basic(key.id, key.secret)
      const errors = async (fields: object, headers?: Record<string, string>) => {
        const { status, body } = await form('/oauth2/token', fields, headers)
        return [status, body.error]
      }
      const challenge = async (sent?: Record<string, string>) =>
        (await form('/oauth2/token', GRANT, sent)).headers.get('www-authenticate')
      const bearer = { authorization: 'Bearer x' }

      assert.deepEqual(await errors({}, client), [400, 'invalid_request'])
      const password = { grant_type: 'password', ...ADMIN }
      assert.deepEqual(await errors(password, client), [400, 'unsupported_grant_type'])
      assert.deepEqual(await errors(GRANT), [401, 'invalid_client'])
      assert.deepEqual(await errors(GRANT, basic(key.id, 'x')), [401, 'invalid_client'])
      for (const sent of [undefined, basic(key.id, 'x'), basic(key.id + 1, key.secret)])
        assert.equal(await challenge(sent), 'Basic realm="oauth2"')
      assert.match((await challenge(bearer)) ?? '', /^Bearer realm="oauth2"/)
    })
  })

  describe(`service keys of identity on ${engine.name}`, engine.options, () => {
    test('read and change users according to their scopes, and appear in the audit', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const { id, secret: token } = await createKey(api, ['users:read'])
      const writer = await createKey(api, ['users:write'])
      const change = (by: string) =>
        api.patch(`/api/users/${userId}`, { enabled: false }, { token: by })

      assert.equal((await api.get('/api/users', { token })).status, 200)
      assert.equal((await change(token)).body.code, 'INSUFFICIENT_SCOPE')
      assert.equal((await change(writer.secret)).status, 200)
      for (const path of ['/api/audit', '/api/service-keys', '/api/users/me'])
        assert.equal((await api.get(path, { token })).status, 401, path)

      const admin = await adminToken(api)
      await api.delete(`/api/service-keys/${id}`, { token: admin })
      assert.equal((await api.get('/api/users', { token })).status, 401)
      const { body } = await api.get('/api/audit?size=100&sort=id,asc', { token: admin })
      const rows = body.content.filter(({ event }: { event: string }) => /KEY|DISABLED/.test(event))
      assert.deepEqual(
        rows.map((row: Record<string, string>) => [row.event, row.actor, row.subject, row.result]),
        [
          ['SERVICE_KEY_CREATED', 'admin', `key ${id} (files)`, 'SUCCESS'],
          ['SERVICE_KEY_CREATED', 'admin', `key ${writer.id} (files)`, 'SUCCESS'],
          ['USER_DISABLED', `key ${writer.id} (files)`, 'alice', 'SUCCESS'],
          ['SERVICE_KEY_REVOKED', 'admin', `key ${id} (files)`, 'SUCCESS'],
          ['SERVICE_KEY_REFUSED', null, `key ${id} (files)`, 'REFUSED'],
        ],
      )
    })
  })
}
