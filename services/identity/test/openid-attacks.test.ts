import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  CALLBACK,
  type Fields,
  newProof,
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
import {
  ADMIN,
  ALICE,
  engines,
  sharedIdentity,
  startIdentity,
  startWithAlice,
} from './start-identity.ts'

for (const engine of engines)
  describe(`attacks on the provider on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered
    let own: Registered

    before(async () => {
      client = await registerClient(shared().api)
      own = await registerClient(shared().api, { firstParty: true })
    })

    /** A browser with a request that awaits its user. */
    async function waiting(of = own, change: Fields = {}) {
      const browser = openBrowser(shared().api)
      const { id } = await browser.authorize(requestOf(of, change).parameters)
      return { browser, id }
    }

    test('a stolen access token cannot be handed over as a browser session', async () => {
      const { api } = shared()
      const { browser, id } = await waiting()
      const { body: alice } = await api.post('/api/auth/login', ALICE)
      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const handOver = async (refreshToken: string | undefined, token?: string) => {
        const action = { action: 'sign-in', refreshToken, remember: true }
        return (await browser.decide(id, action, token)).status
      }

      assert.equal(await handOver(undefined, alice.accessToken), 401)
      assert.equal(await handOver('guess', alice.accessToken), 401)
      assert.equal(await handOver(admin.refreshToken, alice.accessToken), 401)
      assert.equal(await handOver(alice.refreshToken), 401)
      assert.equal(await handOver(alice.refreshToken, alice.accessToken), 200)
    })

    test('a login from before the request, or handed over already, is not taken', async () => {
      const { api, clock } = shared()
      const { body: old } = await api.post('/api/auth/login', ALICE)
      clock.advance(1)
      const first = await waiting()
      const { body: fresh } = await api.post('/api/auth/login', ALICE)
      const second = await waiting()
      const action = (refreshToken: string) => ({ action: 'sign-in', refreshToken })

      const early = await first.browser.decide(first.id, action(old.refreshToken), old.accessToken)
      const taken = await first.browser.decide(
        first.id,
        action(fresh.refreshToken),
        fresh.accessToken,
      )
      const again = await second.browser.decide(
        second.id,
        action(fresh.refreshToken),
        fresh.accessToken,
      )
      const refreshed = await api.post('/api/auth/refresh', { refreshToken: fresh.refreshToken })

      assert.deepEqual([early.status, early.body.code], [401, 'SIGN_IN_REJECTED'])
      assert.equal(taken.status, 200)
      assert.equal(again.status, 401)
      assert.equal(refreshed.status, 401)
    })

    test('the tokens of a client are not taken for a login', async () => {
      const { api } = shared()
      const tokens = await obtainTokens(api, own)
      const { browser, id } = await waiting()

      const action = { action: 'sign-in', refreshToken: tokens.refresh_token }
      const { status } = await browser.decide(id, action, tokens.access_token)

      assert.equal(status, 401)
    })

    test('a first-party loopback client is impersonated: the user is asked every time', async () => {
      const { api } = shared()
      const redirect_uri = 'http://127.0.0.1:5000/cb'
      const command = await registerClient(api, {
        authMethod: 'none',
        firstParty: true,
        redirectUris: ['http://127.0.0.1/cb', 'com.example.app:/cb'],
      })
      const { browser } = await obtainCode(api, command, { parameters: { redirect_uri } })

      const again = await browser.authorize(requestOf(command, { redirect_uri }).parameters)
      const silent = await browser.authorize(
        requestOf(command, { redirect_uri, prompt: 'none' }).parameters,
      )
      const other = { redirect_uri: 'com.example.app:/cb' }
      const scheme = await browser.authorize(requestOf(command, other).parameters)

      assert.equal((await browser.show(again.id)).body.step, 'consent')
      assert.equal((await browser.show(again.id)).body.client.host, '127.0.0.1:5000')
      assert.equal(silent.query.get('error'), 'consent_required')
      assert.equal((await browser.show(scheme.id)).body.step, 'consent')
    })

    test('another program on the machine cannot pass for a console', async () => {
      const { config } = shared()
      const console = { clientId: 'plinth-console' }
      const at = (redirect_uri: string) =>
        openBrowser(shared().api).authorize(
          requestOf(console, { redirect_uri, scope: 'openid roles' }).parameters,
        )

      const right = await at(`${config.publicUrl}/api-test/index.html`)
      const port = await at('http://localhost:9999/api-test/index.html')
      const path = await at(`${config.publicUrl}/api-test/`)

      assert.ok(right.id)
      assert.deepEqual([port.reply.status, path.reply.status], [400, 400])
    })

    test('the scopes of a service key are never granted to a client', async () => {
      const { api } = shared()
      const scope = 'openid users:read users:write tokens:introspect'

      const tokens = await obtainTokens(api, own, { parameters: { scope } })
      const refreshed = await refreshWith(api, own, tokens.refresh_token, { scope: 'users:read' })

      assert.equal(tokens.scope, 'openid')
      assert.equal(refreshed.body.error, 'invalid_scope')
    })

    test('the audience of the suite cannot be reached as a resource', async () => {
      const { api, config } = shared()
      const { browser } = await obtainCode(api, own)

      for (const resource of [config.accounts.audience, config.accounts.issuer]) {
        const { query } = await browser.authorize(requestOf(own, { resource }).parameters)
        assert.equal(query.get('error'), 'invalid_target')
      }
    })

    test('a code that is injected into the session of another user fails without its verifier', async () => {
      const { api } = shared()
      const { exchange } = await obtainCode(api, client)
      const { verifier } = newProof()

      const injected = await tokenRequest(api, { ...exchange, code_verifier: verifier }, client)
      const { code_verifier: _, ...without } = exchange
      const downgraded = await tokenRequest(api, without, client)

      assert.equal(injected.body.error, 'invalid_grant')
      assert.equal(downgraded.body.error, 'invalid_grant')
    })

    test('a code of one client is worthless to another', async () => {
      const { api } = shared()
      const { exchange } = await obtainCode(api, client)

      assert.equal((await tokenRequest(api, exchange, own)).body.error, 'invalid_grant')
    })

    test('login CSRF: a link to the request of another browser is worthless', async () => {
      const { api } = shared()
      const attacker = await waiting()
      const victim = openBrowser(api)
      await obtainCode(api, own, { browser: victim })

      const shown = await victim.show(attacker.id)
      const decided = await victim.decide(attacker.id, { action: 'continue' })
      const signedIn = await signIn(api, victim, attacker.id)

      for (const reply of [shown, decided, signedIn])
        assert.deepEqual([reply.status, reply.body.code], [404, 'AUTHORIZATION_UNKNOWN'])
    })

    test('fixation: a cookie that was planted before a sign-in is not signed in afterwards', async () => {
      const { api } = shared()
      const attacker = await waiting()
      const victim = openBrowser(api)
      victim.setCookie(attacker.browser.cookie)
      const { id } = await victim.authorize(requestOf(own).parameters)

      await signIn(api, victim, id)

      const attempt = await attacker.browser.authorize(
        requestOf(own, { prompt: 'none' }).parameters,
      )
      assert.equal(attempt.query.get('error'), 'login_required')
      assert.equal((await attacker.browser.show(id)).status, 404)
    })

    test('cookie tossing: two cookies of the name are none', async () => {
      const { api } = shared()
      const { browser } = await obtainCode(api, own)
      const cookie = `plinth-sso=${'a'.repeat(43)}; ${browser.cookie}`
      const query = new URLSearchParams(requestOf(own, { prompt: 'none' }).parameters)

      const { headers } = await api.get(`/oauth2/authorize?${query}`, { headers: { cookie } })

      assert.match(headers.get('location') ?? '', /error=login_required/)
    })

    test('over https, only a cookie that no other host can set is read', async (t) => {
      const { api } = await startIdentity(t, {
        engine,
        env: { IDENTITY_PUBLIC_URL: 'https://id.example' },
      })
      const https = await registerClient(api)
      const query = new URLSearchParams(requestOf(https).parameters)

      const { headers } = await api.get(`/oauth2/authorize?${query}`, {
        headers: { cookie: `plinth-sso=${'a'.repeat(43)}` },
      })

      const set = headers.get('set-cookie') ?? ''
      assert.match(set, /^__Host-plinth-sso=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Secure$/)
    })

    test('the cookie opens no API', async () => {
      const { api } = shared()
      const { browser } = await obtainCode(api, own)

      for (const path of ['/api/users/me', '/api/users/me/grants', '/oauth2/userinfo'])
        assert.equal((await browser.open(path)).status, 401)
    })

    test('audience confusion: an ID token is no access token', async () => {
      const { api } = shared()
      const es256 = await registerClient(api, { idTokenAlg: 'ES256', firstParty: true })

      for (const one of [own, es256]) {
        const { id_token: token } = await obtainTokens(api, one)
        assert.equal((await api.get('/api/users/me', { token })).status, 401)
        assert.equal((await api.get('/oauth2/userinfo', { token })).status, 401)
      }
    })

    test('a user who switches accounts is signed out of the applications of the first', async () => {
      const { api } = shared()
      const tokens = await obtainTokens(api, own, { parameters: { scope: 'openid' } })
      const { browser } = tokens
      const { id } = await browser.authorize(requestOf(own, { prompt: 'login' }).parameters)

      await signIn(api, browser, id, { as: ADMIN })

      const refreshed = await refreshWith(api, own, tokens.refresh_token)
      assert.equal(refreshed.body.error, 'invalid_grant')
    })

    test('an account that signs in after the consent of another gets no answer in its place', async () => {
      const { api } = shared()
      const mode = { response_mode: 'form_post', prompt: 'login' }
      const browser = openBrowser(api)
      const first = await browser.authorize(requestOf(own, mode).parameters)
      const { body: allowed } = await signIn(api, browser, first.id)
      assert.equal(allowed.step, 'done')
      const second = await browser.authorize(requestOf(own, mode).parameters)
      await signIn(api, browser, second.id, { as: ADMIN })

      const { pathname, search } = new URL(allowed.redirectTo)
      const answer = await api.get(pathname + search, { headers: { cookie: browser.cookie ?? '' } })

      assert.equal(answer.status, 400)
    })

    test('consent shown to one account is not given by another that has signed in since', async () => {
      const { api } = shared()
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const shown = await browser.authorize(requestOf(client).parameters)
      const { body } = await signIn(api, browser, shown.id)
      assert.equal(body.step, 'consent')
      const other = await browser.authorize(requestOf(own, { prompt: 'login' }).parameters)
      await signIn(api, browser, other.id, { as: ADMIN })

      const allowed = await browser.decide(shown.id, { action: 'allow' })

      assert.equal(allowed.status, 409)
    })

    test('a decision for the account that was shown does not count for another', async () => {
      const { api } = shared()
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const { id: before } = await browser.authorize(requestOf(own).parameters)
      await signIn(api, browser, before, { as: ADMIN })
      const { id } = await browser.authorize(requestOf(client).parameters)

      const refused = await browser.decide(id, { action: 'allow', account: ALICE.username })
      const allowed = await browser.decide(id, { action: 'allow', account: ADMIN.username })

      assert.deepEqual([refused.status, allowed.status], [409, 200])
    })

    test('a code issued before a password change is worthless, even if the browser stays signed in', async (t) => {
      const { api } = await startWithAlice(t)
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const { id } = await browser.authorize(requestOf(client).parameters)
      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const login = { action: 'sign-in', refreshToken: pair.refreshToken }
      await browser.decide(id, login, pair.accessToken)
      await browser.decide(id, { action: 'allow' })
      const { exchange } = await obtainCode(api, client, { browser })
      const newPassword = 'another correct horse battery'
      const change = { currentPassword: ALICE.password, newPassword }

      const changed = await api.post('/api/users/me/password', change, { token: pair.accessToken })

      assert.ok(changed.status < 300, JSON.stringify(changed.body))
      assert.equal((await tokenRequest(api, exchange, client)).body.error, 'invalid_grant')
    })

    test('a client that is no longer first-party loses what it got as one', async () => {
      const { api } = shared()
      const demoted = await registerClient(api, { firstParty: true })
      const tokens = await obtainTokens(api, demoted)
      const { body } = await api.post('/api/auth/login', ADMIN)
      const path = `/api/clients/${demoted.clientId}`

      await api.patch(path, { firstParty: false }, { token: body.accessToken })

      const profile = await api.get('/api/users/me', { token: tokens.access_token })
      const refreshed = await refreshWith(api, demoted, tokens.refresh_token)
      assert.deepEqual([profile.status, refreshed.body.error], [401, 'invalid_grant'])
    })

    test('a secret from before a time without secrets does not work again', async () => {
      const { api } = shared()
      const client = await registerClient(api)
      const { body } = await api.post('/api/auth/login', ADMIN)
      const path = `/api/clients/${client.clientId}`
      const to = (authMethod: string) =>
        api.patch(path, { authMethod }, { token: body.accessToken })

      await to('none')
      await to('client_secret')

      const { exchange } = await obtainCode(api, client)
      assert.equal((await tokenRequest(api, exchange, client)).body.error, 'invalid_client')
    })

    test('without a challenge, a nonce protects the code only together with an ID token', async () => {
      const { api } = shared()
      const client = await registerClient(api, { requirePkce: false })
      const request = { client_id: client.clientId, redirect_uri: CALLBACK, response_type: 'code' }

      const { query } = await openBrowser(api).authorize({
        ...request,
        scope: 'profile',
        nonce: 'abc',
      })

      assert.equal(query.get('error'), 'invalid_request')
    })

    test('a user who signs in again stays signed in to the applications', async () => {
      const { api } = shared()
      const tokens = await obtainTokens(api, own, { parameters: { scope: 'openid' } })
      const { browser } = tokens
      const { id } = await browser.authorize(requestOf(own, { prompt: 'login' }).parameters)

      await signIn(api, browser, id)

      assert.equal((await refreshWith(api, own, tokens.refresh_token)).status, 200)
    })

    test('an address that was taken from the client gets no answer to an earlier request', async () => {
      const { api } = shared()
      const moved = await registerClient(api, { firstParty: true })
      const { browser, id } = await waiting(moved)
      const { body } = await api.post('/api/auth/login', ADMIN)
      const redirectUris = [`${CALLBACK}/new`]

      await api.patch(
        `/api/clients/${moved.clientId}`,
        { redirectUris },
        { token: body.accessToken },
      )

      assert.equal((await signIn(api, browser, id)).status, 404)
    })
  })
