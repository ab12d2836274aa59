import assert from 'node:assert/strict'
import { once } from 'node:events'
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { before, describe, type TestContext, test } from 'node:test'
import { generateKeyPair, SignJWT } from 'jose'
import { until } from '../../../test/until.ts'
import {
  CALLBACK,
  type Fields,
  formRequest,
  obtainCode,
  obtainTokens,
  openBrowser,
  type Registered,
  refreshWith,
  registerClient,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const AFTER = 'https://wiki.example/bye'
const INTERNAL = ['http://169.254.169.254/latest', 'https://10.0.0.1/', 'https://[fd00::1]/']
const EVIL = '"><script>alert(1)</script>'

/** What an attacker writes for an address that looks like the registered one. */
const LOOKALIKES = [
  'https://evil.example/callback',
  'https://wiki.example.evil.example/callback',
  'https://wiki.example@evil.example/callback',
  'https://wiki.example:443/callback',
  'https://wiki.example/callback/../../evil',
  'https://wiki.example/callback?next=https://evil.example',
  'https://wiki.example/callback#@evil.example',
  'https://wiki.example\\@evil.example/callback',
  'HTTPS://wiki.example/callback',
  '//evil.example/callback',
  'javascript:alert(1)',
]

/** A server of the attacker, which sends every request on to another one, and that other one. */
async function startRedirecting(t: TestContext) {
  const seen: string[] = []
  const inner = await listen(t, (_, response) => {
    seen.push('inner')
    response.end('{}')
  })
  const outer = await listen(t, (_, response) => {
    seen.push('outer')
    response.writeHead(307, { location: inner }).end()
  })
  return { outer, seen }
}

async function listen(t: TestContext, answer: http.RequestListener): Promise<string> {
  const server = http.createServer(answer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}

for (const engine of engines)
  describe(`known attacks on the provider on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered
    let own: Registered

    before(async () => {
      client = await registerClient(shared().api)
      own = await registerClient(shared().api, {
        firstParty: true,
        postLogoutRedirectUris: [AFTER],
      })
    })

    test('open redirect: no address that only looks like the registered one is ever a target', async () => {
      const { api } = shared()
      const { browser, id_token } = await obtainTokens(api, own)

      for (const redirect_uri of LOOKALIKES) {
        const { parameters } = requestOf(own, { redirect_uri })
        const asked = await browser.authorize(parameters)
        const pushed = await formRequest(api, '/oauth2/par', {
          ...parameters,
          client_secret: own.clientSecret ?? '',
        })
        const logout = new URLSearchParams({
          id_token_hint: id_token,
          post_logout_redirect_uri: redirect_uri.replace('callback', 'bye'),
        })
        const signedOut = await browser.open(`/oauth2/logout?${logout}`)

        assert.deepEqual([asked.reply.status, asked.location], [400, ''], redirect_uri)
        assert.equal(asked.reply.body.includes('evil.example'), false)
        assert.equal(pushed.status, 400, redirect_uri)
        assert.deepEqual([signedOut.status, signedOut.headers.get('location')], [400, null])
      }
    })

    test('PKCE downgrade: a challenge cannot be taken out of a request, made plain, or left unanswered', async () => {
      const { api } = shared()
      const optional = await registerClient(api, { requirePkce: false, firstParty: true })
      const { browser } = await obtainCode(api, own)
      const ask = (by: Registered, change: Fields, without: string[] = []) => {
        const { parameters, verifier } = requestOf(by, change)
        const kept = Object.entries(parameters).filter(([name]) => !without.includes(name))
        return browser.authorize(Object.fromEntries(kept)).then((asked) => ({ ...asked, verifier }))
      }
      const CHALLENGE = ['code_challenge', 'code_challenge_method']

      const removed = await ask(own, {}, CHALLENGE)
      const plain = await ask(own, { code_challenge_method: 'plain' })
      const unnamed = await ask(own, {}, ['code_challenge_method'])
      const stripped = await ask(optional, {}, CHALLENGE)
      const left = await ask(optional, {})

      for (const { query } of [removed, plain, unnamed])
        assert.equal(query.get('error'), 'invalid_request')
      const exchange = { grant_type: 'authorization_code', redirect_uri: CALLBACK }
      const withVerifier = { ...exchange, code: stripped.code, code_verifier: stripped.verifier }
      const withoutVerifier = { ...exchange, code: left.code }
      for (const fields of [withVerifier, withoutVerifier])
        assert.equal((await tokenRequest(api, fields, optional)).body.error, 'invalid_grant')
    })

    test('mix-up: every answer, refusal and form names its issuer', async () => {
      const { api, config } = shared()
      const { browser } = await obtainCode(api, own)
      const { issuer } = config.accounts
      const ask = (change: Fields) => browser.authorize(requestOf(own, change).parameters)

      const code = await ask({})
      const error = await ask({ scope: 'none' })
      const form = await ask({ response_mode: 'form_post' })
      const formError = await ask({ response_mode: 'form_post', max_age: 'x' })

      for (const { query } of [code, error]) assert.deepEqual(query.getAll('iss'), [issuer])
      for (const { reply } of [form, formError])
        assert.ok(reply.body.includes(`name="iss" value="${issuer}"`))
    })

    test('clickjacking: no page of the provider can be framed', async () => {
      const { api } = shared()
      const { browser } = await obtainCode(api, own)
      const form = requestOf(own, { response_mode: 'form_post' }).parameters

      const pages = [
        await api.get('/account/sign-in'),
        await api.get('/account/device'),
        await api.get('/account/sign-out'),
        await api.get('/oauth2/authorize?client_id=unknown'),
        await api.get('/oauth2/logout?id_token_hint=x'),
        (await browser.authorize(form)).reply,
      ]

      for (const { headers } of pages) {
        assert.match(headers.get('content-type') ?? '', /^text\/html/)
        assert.match(headers.get('content-security-policy') ?? '', /frame-ancestors 'none'/)
      }
    })

    test('consent CSRF: another site cannot decide, type a code or sign out in the name of the user', async () => {
      const { api } = shared()
      const { browser } = await obtainTokens(api, own)
      const { id } = await browser.authorize(requestOf(client).parameters)
      const logout = await browser.open('/oauth2/logout')
      const request = new URL(logout.headers.get('location') ?? '').searchParams.get('request')
      const calls: [string, object][] = [
        [`/api/authorizations/${id}`, { action: 'allow' }],
        ['/api/authorizations', { userCode: 'BCDF-GHJK' }],
        [`/api/sign-outs/${request}`, {}],
      ]
      const cookie = browser.cookie ?? ''

      for (const [path, body] of calls) {
        for (const headers of [
          { origin: 'https://evil.example' },
          { origin: 'null' },
          { 'sec-fetch-site': 'cross-site' },
        ] as Fields[]) {
          const reply = await api.post(path, body, { headers: { cookie, ...headers } })
          assert.deepEqual([reply.status, reply.body.code], [403, 'ORIGIN_REJECTED'], path)
        }
        for (const type of ['application/x-www-form-urlencoded', 'text/plain']) {
          const headers = { cookie, 'content-type': type }
          const text = JSON.stringify(body)
          const reply = await api.request('POST', path, { headers, body: text })
          assert.equal(reply.status, 415, `${path} ${type}`)
          const empty = await api.request('POST', path, { headers, body: '' })
          assert.equal(empty.status, 415, `${path} ${type}, empty`)
        }
        const bare = await api.request('POST', path, { headers: { cookie } })
        assert.equal(bare.status, 415, `${path} without a body`)
      }
      assert.equal((await browser.show(id)).body.step, 'consent')
    })

    test('scope growth: neither a refresh, a token request nor a second visit gives more than was allowed', async () => {
      const { api } = shared()
      const third = await registerClient(api)
      const { exchange, browser } = await obtainCode(api, third, {
        parameters: { scope: 'openid' },
      })

      const scope = 'openid email roles offline_access users:read'
      const { body } = await tokenRequest(api, { ...exchange, scope }, third)
      const refreshed = await refreshWith(api, third, body.refresh_token, { scope })
      const silent = await browser.authorize(
        requestOf(third, { scope: 'openid email', prompt: 'none' }).parameters,
      )
      const asked = await browser.authorize(requestOf(third, { scope }).parameters)

      assert.equal(body.scope, 'openid')
      assert.equal(refreshed.body.error, 'invalid_scope')
      assert.equal(silent.query.get('error'), 'consent_required')
      // The client has not registered roles; those of service keys are no one's.
      const shown = await browser.show(asked.id)
      assert.deepEqual(shown.body.scopes, ['openid', 'email', 'offline_access'])
      const info = await api.get('/oauth2/userinfo', { token: body.access_token })
      assert.deepEqual(Object.keys(info.body), ['sub'])
    })

    test('XSS by names, state and parameters: no page of ours has them as markup', async () => {
      const { api } = shared()
      const named = await registerClient(api, { name: EVIL, firstParty: true })
      const { browser } = await obtainCode(api, named)
      const ask = (change: Fields) => browser.authorize(requestOf(named, change).parameters)

      const form = await ask({ response_mode: 'form_post', state: EVIL })
      const error = await ask({ response_mode: 'form_post', state: EVIL, max_age: EVIL })
      const refused = await ask({ redirect_uri: EVIL })
      const unknown = await ask({ client_id: EVIL })
      const logout = await api.get(`/oauth2/logout?${new URLSearchParams({ client_id: EVIL })}`)
      const page = await api.get(
        `/account/sign-in?${new URLSearchParams({ authorization: EVIL, error: EVIL })}`,
      )

      for (const { body } of [form.reply, error.reply, refused.reply, unknown.reply, logout, page])
        assert.equal(String(body).includes('<script>alert'), false)
      for (const { reply } of [form, error]) {
        assert.match(reply.body, /value="&quot;&gt;&lt;script&gt;alert\(1\)/)
        assert.match(reply.headers.get('content-security-policy') ?? '', /script-src 'sha256-/)
      }
    })

    test('enumeration by hint: known and unknown names are shown alike', async () => {
      const { api } = shared()
      const shown = async (login_hint: string, more: Fields = {}) => {
        const browser = openBrowser(api)
        const asked = await browser.authorize(requestOf(own, { login_hint, ...more }).parameters)
        if (!asked.id) return Object.fromEntries(asked.query)
        const { id: _, loginHint, expiresAt: __, ...rest } = (await browser.show(asked.id)).body
        assert.equal(loginHint, login_hint)
        return rest
      }

      assert.deepEqual(await shown(ALICE.email), await shown('unknown@example.com'))
      assert.deepEqual(await shown(ALICE.username), await shown('unknown'))
      const none = { prompt: 'none' }
      assert.deepEqual(await shown(ALICE.email, none), await shown('unknown@example.com', none))
    })

    test('SSRF by jwksUri: internal addresses cannot be registered, and redirects to them are not followed', async (t) => {
      const { api, config, clock } = shared()
      const { outer, seen } = await startRedirecting(t)
      const token = await adminToken(api)
      const register = (jwksUri: string) => {
        const client = { name: 'Wiki', redirectUris: [CALLBACK], authMethod: 'private_key_jwt' }
        return api.post('/api/clients', { ...client, jwksUri }, { token })
      }
      const { body: registered } = await register(outer)
      const { privateKey } = await generateKeyPair('ES256')
      const claims = { iss: registered.clientId, sub: registered.clientId, jti: 'one' }
      const assertion = await new SignJWT({ ...claims, aud: config.accounts.issuer })
        .setProtectedHeader({ alg: 'ES256' })
        .setExpirationTime(Math.floor(clock().getTime() / 1000) + 60)
        .sign(privateKey)

      const reply = await formRequest(api, '/oauth2/token', {
        grant_type: 'refresh_token',
        refresh_token: 'x',
        client_assertion: assertion,
        client_assertion_type: 'urn:ietf:params:oauth:client-assertion-type:jwt-bearer',
      })

      assert.deepEqual([reply.status, reply.body.error], [401, 'invalid_client'])
      assert.deepEqual(seen, ['outer'])
      for (const address of INTERNAL) assert.equal((await register(address)).status, 400, address)
    })

    test('SSRF by the back-channel: internal addresses cannot be registered, and redirects to them are not followed', {
      tags: ['all'],
    }, async (t) => {
      const { api, clock } = await startWithAlice(t, { engine, delivers: true })
      const { outer, seen } = await startRedirecting(t)
      const token = await adminToken(api)
      const told = await registerClient(api, { backchannelLogoutUri: outer })
      const { refresh_token } = await obtainTokens(api, told)

      await formRequest(api, '/oauth2/revoke', { token: refresh_token })
      await until(
        () => seen.length,
        (count) => count > 0,
      )
      clock.advance(5)
      await until(
        () => seen.length,
        (count) => count > 1,
      )

      assert.deepEqual(seen, ['outer', 'outer'])
      for (const backchannelLogoutUri of INTERNAL) {
        const client = { name: 'Wiki', redirectUris: [CALLBACK], backchannelLogoutUri }
        assert.equal((await api.post('/api/clients', client, { token })).status, 400)
      }
    })

    test('login CSRF: a sign-in on the page of another request leaves the victim’s browser as it was', async () => {
      const { api } = shared()
      const attacker = openBrowser(api)
      const { id } = await attacker.authorize(requestOf(own).parameters)
      const victim = openBrowser(api)

      const planted = await signIn(api, victim, id)

      assert.equal(planted.status, 404)
      assert.equal(victim.cookie, undefined)
    })
  })
