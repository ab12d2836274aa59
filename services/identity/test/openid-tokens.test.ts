import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { until } from '../../../test/until.ts'
import {
  CALLBACK,
  claimsIn,
  type Fields,
  formRequest,
  obtainCode,
  obtainTokens,
  openBrowser,
  type Registered,
  refreshWith,
  registerClient,
  requestOf,
  tokenRequest,
} from './browser.ts'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const RESOURCE = 'https://api.example'
const OTHER = 'https://other.example'

for (const engine of engines) {
  describe(`the tokens of a client on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine, env: { IDENTITY_RESOURCES: RESOURCE } })
    let client: Registered
    let own: Registered

    before(async () => {
      const resources = [OTHER]
      client = await registerClient(shared().api, { resources })
      const scopes = ['openid', 'profile', 'email', 'roles', 'offline_access']
      own = await registerClient(shared().api, { firstParty: true, resources, scopes })
    })

    const refresh = (token: string, more: Fields = {}) =>
      refreshWith(shared().api, client, token, more)

    async function introspect(token: string) {
      const { api } = shared()
      const scopes = ['tokens:introspect']
      const admin = await adminToken(api)
      const key = await api.post('/api/service-keys', { name: 'k', scopes }, { token: admin })
      const authorization = `Bearer ${key.body.secret}`
      return (await formRequest(api, '/oauth2/introspect', { token }, { authorization })).body
    }

    test('a code works once within a minute, for its client, address and verifier', async () => {
      const { api, clock } = shared()
      const { exchange, browser } = await obtainCode(api, client)
      const late = (await obtainCode(api, client, { browser })).exchange
      const error = async (change: Fields, by = client) =>
        (await tokenRequest(api, { ...exchange, ...change }, by)).body.error

      const wrong = [
        await error({ code: 'x'.repeat(43) }),
        await error({ redirect_uri: `${CALLBACK}/` }),
        await error({ code_verifier: 'x'.repeat(43) }),
        await error({ code_verifier: '' }),
        await error({ code_verifier: 'x'.repeat(129) }),
        await error({}, own),
      ]
      const right = await tokenRequest(api, exchange, client)
      clock.advance(61)

      assert.deepEqual(new Set(wrong), new Set(['invalid_grant']))
      assert.equal(right.status, 200, JSON.stringify(right.body))
      assert.equal((await tokenRequest(api, late, client)).body.error, 'invalid_grant')
    })

    test('a request without what its grant needs is invalid_request', async () => {
      const { api } = shared()
      const device_code = 'urn:ietf:params:oauth:grant-type:device_code'
      const device = await registerClient(api, { grantTypes: [device_code], redirectUris: [] })
      const error = async (fields: Fields, by = client) => {
        const { status, body } = await tokenRequest(api, fields, by)
        return [status, body.error]
      }

      const errors = [
        await error({}),
        await error({ grant_type: 'authorization_code' }),
        await error({ grant_type: 'refresh_token' }),
        await error({ grant_type: device_code }, device),
      ]

      for (const each of errors) assert.deepEqual(each, [400, 'invalid_request'])
    })

    test('a second use of a code ends what the first gave', async () => {
      const { api } = shared()
      const { exchange, access_token, refresh_token } = await obtainTokens(api, client)

      const second = await tokenRequest(api, exchange, client)

      assert.deepEqual([second.status, second.body.error], [400, 'invalid_grant'])
      assert.equal((await refresh(refresh_token)).body.error, 'invalid_grant')
      assert.equal((await api.get('/oauth2/userinfo', { token: access_token })).status, 401)
      const events = await api.get('/api/audit?event=CODE_REPLAYED', {
        token: await adminToken(api),
      })
      assert.equal(events.body.content[0].subject, 'alice')
    })

    test('a spent refresh token ends the session, but not when it is repeated at once', async () => {
      const { api, clock } = shared()
      const first = await obtainTokens(api, client)
      const second = await refresh(first.refresh_token)

      const repeated = await refresh(first.refresh_token)
      const third = await refresh(second.body.refresh_token)
      const replayed = await refresh(first.refresh_token)
      const ended = await refresh(third.body.refresh_token)
      clock.advance(1)

      assert.deepEqual([repeated.status, repeated.body.error], [400, 'invalid_grant'])
      assert.equal(third.status, 200)
      assert.equal(replayed.body.error, 'invalid_grant')
      assert.equal(ended.body.error, 'invalid_grant')
    })

    test('the token spent last ends the session when it is repeated after ten seconds', async () => {
      const { api, clock } = shared()
      const first = await obtainTokens(api, client)
      const second = await refresh(first.refresh_token)
      clock.advance(11)

      await refresh(first.refresh_token)

      assert.equal((await refresh(second.body.refresh_token)).body.error, 'invalid_grant')
    })

    test('a refresh token is useless to other clients and at the API', async () => {
      const { api } = shared()
      const { refresh_token: refreshToken } = await obtainTokens(api, client)

      const other = await refreshWith(api, own, refreshToken)
      const login = await api.post('/api/auth/refresh', { refreshToken })

      assert.equal(other.body.error, 'invalid_grant')
      assert.equal(login.status, 401)
      assert.equal((await refresh(refreshToken)).status, 200)
    })

    test('a refresh narrows the scope of one access token, and never widens it', async () => {
      const { api } = shared()
      const { refresh_token } = await obtainTokens(api, client)

      const more = await refresh(refresh_token, { scope: 'openid roles' })
      const less = await refresh(refresh_token, { scope: 'openid' })
      const all = await refresh(less.body.refresh_token)

      assert.equal(more.body.error, 'invalid_scope')
      assert.deepEqual(
        [less.body.scope, claimsIn(less.body.access_token).scope],
        ['openid', 'openid'],
      )
      assert.equal(all.body.scope, 'openid profile email offline_access')
    })

    test('a scope that the client may no longer have is left out of its next refresh', async () => {
      const { api } = shared()
      const other = await registerClient(api)
      const { refresh_token } = await obtainTokens(api, other)
      const scopes = ['openid', 'offline_access']
      const token = await adminToken(api)
      await api.patch(`/api/clients/${other.clientId}`, { scopes }, { token })

      const { body } = await refreshWith(api, other, refresh_token)

      assert.deepEqual(
        [body.scope, claimsIn(body.access_token).scope],
        Array(2).fill(scopes.join(' ')),
      )
    })

    test('a spent token that asks for more ends its session like any other', async () => {
      const { api, clock } = shared()
      const { refresh_token } = await obtainTokens(api, client)
      const { body } = await refresh(refresh_token)
      clock.advance(60)

      const replayed = await refresh(refresh_token, { scope: 'openid roles' })

      assert.equal(replayed.body.error, 'invalid_grant')
      assert.equal((await refreshWith(api, client, body.refresh_token)).body.error, 'invalid_grant')
    })

    test('a token of a third party is meant for the issuer, and opens no API', async () => {
      const { api, config } = shared()
      const { access_token: token } = await obtainTokens(api, client)

      const claims = claimsIn(token)

      assert.equal(claims.aud, config.accounts.issuer)
      assert.deepEqual([claims.username, claims.roles], ['alice', undefined])
      for (const path of ['/api/users/me', '/api/users/me/sessions', '/api/users/me/grants'])
        assert.equal((await api.get(path, { token })).status, 401, path)
      const info = await api.get('/oauth2/userinfo', { token })
      assert.deepEqual(info.body, {
        sub: claims.sub,
        name: 'alice',
        preferred_username: 'alice',
        email: ALICE.email,
        email_verified: false,
      })
    })

    test('a token of a first-party client is the user’s own', async () => {
      const { api, config } = shared()
      const { access_token: token } = await obtainTokens(api, own)

      assert.equal(claimsIn(token).aud, config.accounts.audience)
      assert.equal((await api.get('/api/users/me', { token })).body.username, 'alice')
      const sessions = await api.get('/api/users/me/sessions', { token })
      const current = sessions.body.find((session: { current: boolean }) => session.current)
      assert.deepEqual(current.client, { clientId: own.clientId, name: 'Wiki' })
    })

    test('a token for a resource is meant for it alone, and introspection says so', async () => {
      const { api } = shared()
      const parameters = { scope: 'openid', resource: RESOURCE }

      const { access_token, refresh_token } = await obtainTokens(api, own, { parameters })
      const grown = await refreshWith(api, own, refresh_token, { resource: OTHER })

      const found = await introspect(access_token)
      assert.deepEqual([found.active, found.aud, found.scope], [true, RESOURCE, 'openid'])
      assert.deepEqual(['username' in found, 'roles' in claimsIn(access_token)], [false, false])
      assert.equal((await api.get('/api/users/me', { token: access_token })).status, 401)
      assert.equal((await api.get('/oauth2/userinfo', { token: access_token })).status, 401)
      assert.equal(grown.body.error, 'invalid_target')
      assert.equal((await refreshWith(api, own, refresh_token)).status, 200)
    })

    test('several resources can be narrowed to one in the token request', async () => {
      const { api } = shared()
      const browser = openBrowser(api)
      await obtainCode(api, own, { browser })
      const { parameters, verifier } = requestOf(own)
      const query = new URLSearchParams(parameters)
      for (const one of [RESOURCE, OTHER]) query.append('resource', one)
      const reply = await browser.open(`/oauth2/authorize?${query}`)
      const code = new URL(reply.headers.get('location') ?? '').searchParams.get('code') ?? ''
      const exchange = { code, redirect_uri: CALLBACK, code_verifier: verifier }

      const one = await tokenRequest(
        api,
        { grant_type: 'authorization_code', ...exchange, resource: OTHER },
        own,
      )
      const both = await refreshWith(api, own, one.body.refresh_token)

      assert.equal(claimsIn(one.body.access_token).aud, OTHER)
      assert.deepEqual(claimsIn(both.body.access_token).aud, [RESOURCE, OTHER])
    })

    test('userinfo needs the scope openid and a token', async () => {
      const { api, token: login } = shared()
      const { access_token } = await obtainTokens(api, client, { parameters: { scope: 'email' } })
      const info = async (token?: string) => {
        const reply = await api.get('/oauth2/userinfo', token === undefined ? {} : { token })
        return [reply.status, reply.body.error, reply.headers.get('access-control-allow-origin')]
      }

      assert.deepEqual(await info(access_token), [403, 'insufficient_scope', '*'])
      assert.deepEqual(await info(login), [403, 'insufficient_scope', '*'])
      assert.deepEqual(await info('x'), [401, 'invalid_token', '*'])
      assert.deepEqual(await info(), [401, 'invalid_token', '*'])
    })

    test('pages of any origin may call token, revoke and userinfo', async () => {
      const { api } = shared()
      const headers = { origin: 'https://spa.example', 'access-control-request-method': 'POST' }

      for (const path of ['/oauth2/token', '/oauth2/revoke', '/oauth2/userinfo']) {
        const reply = await api.request('OPTIONS', path, { headers })
        assert.deepEqual(
          [reply.status, reply.headers.get('access-control-allow-origin')],
          [204, '*'],
        )
        assert.match(reply.headers.get('access-control-allow-headers') ?? '', /authorization/)
      }
    })

    test('pages of any origin may read the documents, whatever headers their library sends', async () => {
      const { api } = shared()
      const headers = {
        origin: 'https://spa.example',
        'access-control-request-method': 'GET',
        'access-control-request-headers': 'mcp-protocol-version',
      }

      for (const name of [
        'openid-configuration',
        'oauth-authorization-server',
        'oauth-protected-resource',
        'jwks.json',
      ]) {
        const path = `/.well-known/${name}`
        const asked = await api.request('OPTIONS', path, { headers })
        const read = await api.get(path, { headers: { origin: headers.origin } })
        const shared = ({ headers: sent }: { headers: Headers }) =>
          sent.get('access-control-allow-origin')
        assert.deepEqual([asked.status, shared(asked), shared(read)], [204, '*', '*'], path)
        assert.match(asked.headers.get('access-control-allow-headers') ?? '', /^\*/)
        assert.match(asked.headers.get('access-control-allow-methods') ?? '', /\bGET\b/)
      }
    })

    test('revocation ends that session of the client, not what was allowed', async () => {
      const { api } = shared()
      const first = await obtainTokens(api, client)
      const { browser } = first
      const second = await obtainTokens(api, client, { browser })
      const third = await obtainTokens(api, client, { browser })
      const parameters = { scope: 'openid' }
      const narrow = await obtainTokens(api, client, { browser, parameters })

      await formRequest(api, '/oauth2/revoke', { token: first.access_token })
      await formRequest(api, '/oauth2/revoke', { token: narrow.access_token })
      await formRequest(api, '/oauth2/revoke', { token: second.refresh_token })

      assert.equal((await refresh(first.refresh_token)).body.error, 'invalid_grant')
      assert.equal((await refresh(second.refresh_token)).body.error, 'invalid_grant')
      assert.equal((await introspect(second.access_token)).active, false)
      assert.equal((await introspect(narrow.access_token)).active, false)
      assert.equal((await refresh(third.refresh_token)).status, 200)
      assert.ok((await browser.authorize(requestOf(client).parameters)).code)
    })

    test('a grant is listed, and its end ends the client’s sessions and codes', async () => {
      const { api } = shared()
      const other = await registerClient(api, { name: 'Notes', uri: 'https://notes.example' })
      const tokens = await obtainTokens(api, other, { parameters: { scope: 'openid email' } })
      const { exchange } = await obtainCode(api, other, {
        browser: tokens.browser,
        parameters: { scope: 'openid' },
      })
      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const token = pair.accessToken
      const path = `/api/users/me/grants/${other.clientId}`

      const listed = await api.get('/api/users/me/grants', { token })
      const ended = await api.delete(path, { token })

      const { createdAt, lastUsedAt, ...grant } = listed.body.find(
        ({ client: { clientId } }: { client: Registered }) => clientId === other.clientId,
      )
      assert.deepEqual(grant, {
        client: { clientId: other.clientId, name: 'Notes', uri: 'https://notes.example' },
        scopes: ['openid', 'email'],
        resources: [],
      })
      assert.ok(createdAt <= lastUsedAt)
      assert.equal(ended.status, 204)
      assert.equal(
        (await refreshWith(api, other, tokens.refresh_token)).body.error,
        'invalid_grant',
      )
      assert.equal((await tokenRequest(api, exchange, other)).body.error, 'invalid_grant')
      assert.equal((await api.get('/oauth2/userinfo', { token: tokens.access_token })).status, 401)
      assert.equal((await api.delete(path, { token })).body.code, 'GRANT_NOT_FOUND')
      assert.ok((await tokens.browser.authorize(requestOf(other).parameters)).id)
    })

    test('administrators list and end the grants of users', async () => {
      const { api, userId } = shared()
      const other = await registerClient(api)
      await obtainTokens(api, other)
      const token = await adminToken(api)
      const path = `/api/users/${userId}/grants`

      const listed = await api.get(path, { token })
      const ended = await api.delete(`${path}/${other.clientId}`, { token })

      assert.ok(
        listed.body.some(
          (grant: { client: Registered }) => grant.client.clientId === other.clientId,
        ),
      )
      assert.equal(ended.status, 204)
      assert.equal((await api.get('/api/users/999/grants', { token })).status, 404)
    })
  })

  describe(`what ends the sessions of clients on ${engine.name}`, engine.options, () => {
    const ENDS: Record<string, (started: Started) => Promise<unknown>> = {
      'the user is disabled': async ({ api, userId }) =>
        api.patch(`/api/users/${userId}`, { enabled: false }, { token: await adminToken(api) }),
      'the password changes': ({ api, token }) =>
        api.post(
          '/api/users/me/password',
          { currentPassword: ALICE.password, newPassword: 'another long passphrase' },
          { token },
        ),
      'an administrator ends all sessions': async ({ api, userId }) =>
        api.deleteWith(
          `/api/users/${userId}/sessions`,
          { reason: 'lost laptop' },
          { token: await adminToken(api) },
        ),
    }
    type Started = Awaited<ReturnType<typeof startWithAlice>>

    for (const [what, end] of Object.entries(ENDS))
      test(`${what}: refresh, codes, userinfo and introspection end at once`, async (t) => {
        const started = await startWithAlice(t, { engine })
        const { api } = started
        const client = await registerClient(api)
        const tokens = await obtainTokens(api, client)
        const { exchange } = await obtainCode(api, client, { browser: tokens.browser })

        const reply = (await end(started)) as { status: number }

        assert.ok(reply.status < 300, String(reply.status))
        assert.equal(
          (await refreshWith(api, client, tokens.refresh_token)).body.error,
          'invalid_grant',
        )
        assert.equal((await tokenRequest(api, exchange, client)).body.error, 'invalid_grant')
        assert.equal(
          (await api.get('/oauth2/userinfo', { token: tokens.access_token })).status,
          401,
        )
        const again = await tokens.browser.authorize(requestOf(client).parameters)
        assert.ok(again.id)
      })

    test('the end of the browser’s session ends its clients, except those with offline_access', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const online = await obtainTokens(api, client, { parameters: { scope: 'openid' } })
      const { browser } = online
      const offline = await obtainTokens(api, client, { browser })
      const { body: sessions } = await api.get('/api/users/me/sessions', { token })
      const [browsers] = sessions.filter(
        (one: { client: object | null; current: boolean }) => one.client === null && !one.current,
      )

      const ended = await api.delete(`/api/users/me/sessions/${browsers.id}`, { token })

      assert.equal(ended.status, 204)
      assert.equal(
        (await refreshWith(api, client, online.refresh_token)).body.error,
        'invalid_grant',
      )
      assert.equal((await api.get('/oauth2/userinfo', { token: online.access_token })).status, 401)
      assert.equal((await refreshWith(api, client, offline.refresh_token)).status, 200)
    })

    test('an account is exported with its grants, and erased with them', async (t) => {
      const env = { IDENTITY_DELETION_GRACE_DAYS: '0' }
      const { api, token, userId } = await startWithAlice(t, { engine, env })
      const client = await registerClient(api)
      const tokens = await obtainTokens(api, client)
      const { exchange } = await obtainCode(api, client, { browser: tokens.browser })

      const exported = await api.post('/api/users/me/export/file', undefined, { token })
      const { password } = ALICE
      await api.deleteWith('/api/users/me', { password }, { token })
      const admin = await adminToken(api)
      await until(
        () => api.get(`/api/users/${userId}`, { token: admin }),
        ({ status }) => status === 404,
      )

      assert.equal(exported.body.grants[0].clientId, client.clientId)
      assert.ok(
        exported.body.sessions.some((one: { client: object | null }) => one.client !== null),
      )
      assert.equal(
        (await refreshWith(api, client, tokens.refresh_token)).body.error,
        'invalid_grant',
      )
      assert.equal((await tokenRequest(api, exchange, client)).body.error, 'invalid_grant')
      assert.equal((await api.get('/oauth2/userinfo', { token: tokens.access_token })).status, 401)
    })

    test('a password that is changed in a client ends all sessions but its own', async (t) => {
      const { api, pair } = await startWithAlice(t, { engine })
      const client = await registerClient(api, { firstParty: true })
      const parameters = { scope: 'openid' }
      const own = await obtainTokens(api, client, { parameters })
      const other = await obtainTokens(api, client, { parameters, browser: own.browser })
      const { refreshToken } = pair

      const changed = await api.post(
        '/api/users/me/password',
        { currentPassword: ALICE.password, newPassword: 'another long passphrase' },
        { token: own.access_token },
      )

      assert.ok(changed.status < 300, JSON.stringify(changed.body))
      assert.equal((await refreshWith(api, client, own.refresh_token)).status, 200)
      assert.equal((await refreshWith(api, client, other.refresh_token)).status, 400)
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
    })

    test('a client that is used keeps the browser signed in', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const tokens = await obtainTokens(api, client, { parameters: { scope: 'openid' } })

      clock.advance(11 * 3600)
      const used = await refreshWith(api, client, tokens.refresh_token)
      clock.advance(11 * 3600)
      const again = await tokens.browser.authorize(
        requestOf(client, { scope: 'openid' }).parameters,
      )
      clock.advance(12 * 3600 + 1)
      const late = await refreshWith(api, client, used.body.refresh_token)

      assert.ok(again.code)
      assert.equal(late.body.error, 'invalid_grant')
    })
  })
}
