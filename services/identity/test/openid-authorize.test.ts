import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import {
  CALLBACK,
  claimsIn,
  type Fields,
  obtainCode,
  obtainTokens,
  openBrowser,
  type Registered,
  registerClient,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ADMIN, ALICE, engines, sharedIdentity } from './start-identity.ts'

const RESOURCE = 'https://api.example'

for (const engine of engines)
  describe(`GET /oauth2/authorize on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine, env: { IDENTITY_RESOURCES: RESOURCE } })
    let client: Registered
    let own: Registered

    before(async () => {
      client = await registerClient(shared().api)
      own = await registerClient(shared().api, { firstParty: true, name: 'Own' })
    })

    /** The answer to a request of the client, changed like this; `null` leaves a parameter out. */
    async function ask(change: Record<string, string | null>, browser = openBrowser(shared().api)) {
      const { parameters } = requestOf(client)
      const entries = Object.entries({ ...parameters, ...change })
      const kept = entries.filter((entry): entry is [string, string] => entry[1] !== null)
      return browser.authorize(Object.fromEntries(kept))
    }

    async function signedIn(as: object = ALICE, remember = false) {
      const { api } = shared()
      const browser = openBrowser(api)
      const { id } = await browser.authorize(requestOf(own).parameters)
      const { body } = await signIn(api, browser, id, { as, remember })
      assert.equal(body.step, 'done', JSON.stringify(body))
      return browser
    }

    test('explains a refusal in the language of the application, or that of the browser', async () => {
      const { api } = shared()
      const path = (more: Fields = {}) =>
        `/oauth2/authorize?${new URLSearchParams({ client_id: 'nobody', ...more })}`
      const inLanguage = (accept: string) => ({ headers: { 'accept-language': accept } })

      const german = await api.get(path(), inLanguage('fr, de-AT;q=0.8, en;q=0.1'))
      const spanish = await api.get(path({ ui_locales: 'fr es' }), inLanguage('de'))
      const other = await api.get(path(), inLanguage('fr'))
      const signOut = await api.get('/oauth2/logout?id_token_hint=x', inLanguage('de'))
      const callback = await api.get('/federation/acme/callback', inLanguage('es'))

      assert.match(german.body, /<html lang="de">[\s\S]*ist unbekannt oder abgeschaltet/)
      assert.match(spanish.body, /<html lang="es">[\s\S]*es desconocida o está desactivada/)
      assert.match(other.body, /<html lang="en">[\s\S]*is unknown or disabled/)
      assert.match(signOut.body, /<html lang="de">[\s\S]*Anfrage zum Abmelden/)
      assert.match(callback.body, /<html lang="es">[\s\S]*Vuelve a la aplicación/)
    })

    test('answers a page and sends nothing anywhere while client or address are uncertain', async () => {
      const { api } = shared()
      const { parameters } = requestOf(client)
      const query = new URLSearchParams(parameters)
      const twice = (name: string) =>
        `${query}&${name}=${encodeURIComponent(query.get(name) ?? '')}`

      const replies = [
        (await ask({ client_id: 'unknown' })).reply,
        (await ask({ client_id: null })).reply,
        (await ask({ redirect_uri: null })).reply,
        (await ask({ redirect_uri: `${CALLBACK}/` })).reply,
        (await ask({ redirect_uri: 'https://evil.example/' })).reply,
        (await ask({ request_uri: 'urn:ietf:params:oauth:request_uri:none' })).reply,
        await api.get(`/oauth2/authorize?${twice('client_id')}`),
        await api.get(`/oauth2/authorize?${twice('redirect_uri')}`),
      ]

      for (const { status, headers } of replies) {
        assert.deepEqual([status, headers.get('location')], [400, null])
        assert.match(headers.get('content-type') ?? '', /^text\/html/)
      }
    })

    const FAULTS: [Record<string, string | null>, string][] = [
      [{ response_type: 'token' }, 'unsupported_response_type'],
      [{ response_type: null }, 'invalid_request'],
      [{ code_challenge: null }, 'invalid_request'],
      [{ code_challenge_method: 'plain' }, 'invalid_request'],
      [{ code_challenge_method: null }, 'invalid_request'],
      [{ code_challenge: 'short' }, 'invalid_request'],
      [{ max_age: 'soon' }, 'invalid_request'],
      [{ max_age: '-1' }, 'invalid_request'],
      [{ response_mode: 'fragment' }, 'invalid_request'],
      [{ prompt: 'none login' }, 'invalid_request'],
      [{ id_token_hint: 'x.y.z' }, 'invalid_request'],
      [{ scope: 'address users:read' }, 'invalid_scope'],
      [{ request: 'x' }, 'request_not_supported'],
      [{ resource: 'https://other.example' }, 'invalid_target'],
      [{ resource: 'plinth' }, 'invalid_target'],
      [{ prompt: 'none' }, 'login_required'],
    ]
    for (const [change, error] of FAULTS)
      test(`tells the client of ${error}: ${JSON.stringify(change)}`, async () => {
        const { reply, location, query } = await ask(change)

        assert.equal(reply.status, 303)
        assert.equal(location.startsWith(`${CALLBACK}?`), true, location)
        assert.deepEqual(
          [query.get('error'), query.get('state'), query.get('iss')],
          [error, 'some state', shared().config.accounts.issuer],
        )
      })

    test('tells the client of a repeated parameter, but accepts several resources', async () => {
      const { api } = shared()
      const query = new URLSearchParams(requestOf(client).parameters)

      const scope = await api.get(`/oauth2/authorize?${query}&scope=openid`)
      const resource = `resource=${encodeURIComponent(RESOURCE)}`
      const resources = await api.get(`/oauth2/authorize?${query}&${resource}&${resource}`)

      assert.match(scope.headers.get('location') ?? '', /error=invalid_request/)
      assert.match(resources.headers.get('location') ?? '', /account\/sign-in/)
    })

    test('ignores unknown parameters and scopes', async () => {
      const browser = openBrowser(shared().api)

      const { id } = await ask({ scope: 'openid address users:read', audience: 'plinth' }, browser)

      assert.deepEqual((await browser.show(id)).body.scopes, ['openid'])
    })

    test('accepts a form, and goes on with a GET', async () => {
      const { api, config } = shared()
      const { parameters } = requestOf(client)
      const body = new URLSearchParams(parameters).toString()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }

      const { status, headers: sent } = await api.request('POST', '/oauth2/authorize', {
        body,
        headers,
      })

      assert.equal(status, 303)
      assert.equal(sent.get('location'), `${config.publicUrl}/oauth2/authorize?${body}`)
    })

    test('demands a nonce of a client that needs no challenge, and an answer to a challenge that was sent', async () => {
      const { api } = shared()
      const old = await registerClient(api, { requirePkce: false, firstParty: true })
      const without = { code_challenge: null, code_challenge_method: null }
      const browser = await signedIn()

      const unprotected = await ask({ client_id: old.clientId, ...without, nonce: null }, browser)
      const withNonce = await ask({ client_id: old.clientId, ...without }, browser)
      const withChallenge = await ask({ client_id: old.clientId }, browser)

      const exchange = (code: string, more: Fields = {}) =>
        tokenRequest(
          api,
          { grant_type: 'authorization_code', code, redirect_uri: CALLBACK, ...more },
          old,
        )
      assert.equal(unprotected.query.get('error'), 'invalid_request')
      assert.equal((await exchange(withChallenge.code)).body.error, 'invalid_grant')
      const verifier = { code_verifier: 'v'.repeat(43) }
      assert.equal((await exchange(withNonce.code, verifier)).body.error, 'invalid_grant')
      assert.equal((await exchange(withNonce.code)).status, 200)
    })

    test('matches loopback addresses with any port, and nothing else', async () => {
      const { api } = shared()
      const command = await registerClient(api, {
        authMethod: 'none',
        redirectUris: ['http://127.0.0.1/callback', 'http://localhost:3000/cb?x=1'],
      })
      const status = async (redirect_uri: string) => {
        const { reply } = await ask({ client_id: command.clientId, redirect_uri })
        return reply.status
      }

      assert.equal(await status('http://127.0.0.1:49152/callback'), 303)
      assert.equal(await status('http://localhost:49152/cb?x=1'), 303)
      assert.equal(await status('http://localhost/cb?x=1'), 303)
      assert.equal(await status('http://localhost:49152/cb?x=2'), 400)
      assert.equal(await status('http://[::1]:49152/callback'), 400)
      assert.equal(await status('https://127.0.0.1:49152/callback'), 400)
      assert.equal(await status('http://127.0.0.1:1@evil.example/callback'), 400)
      assert.equal(await status('http://127.0.0.1.evil.example/callback'), 400)
    })

    test('form_post answers a page that sends the form to the client alone', async () => {
      const browser = await signedIn()
      const evil = '"><script>alert(1)</script>'

      const { reply } = await ask(
        { client_id: own.clientId, response_mode: 'form_post', state: evil },
        browser,
      )
      const error = await ask({ response_mode: 'form_post', scope: 'x' })

      const policy = reply.headers.get('content-security-policy') ?? ''
      assert.equal(reply.status, 200)
      assert.match(policy, /form-action https:\/\/wiki\.example;/)
      assert.match(policy, /default-src 'none'/)
      assert.match(reply.body, /<form method="post" action="https:\/\/wiki\.example\/callback">/)
      assert.match(reply.body, /name="code" value="[\w-]{43}"/)
      assert.equal(reply.body.includes(evil), false)
      assert.match(error.reply.body, /name="error" value="invalid_scope"/)
    })

    test('form_post after a decision goes through a page of ours, once', async () => {
      const { api, config } = shared()
      const browser = openBrowser(api)
      const { id } = await ask({ response_mode: 'form_post', client_id: own.clientId }, browser)

      const { body } = await signIn(api, browser, id)
      const path = body.redirectTo.slice(config.publicUrl.length)
      const other = await api.get(path)
      const first = await browser.open(path)
      const second = await browser.open(path)

      assert.equal(body.step, 'done')
      assert.match(path, /^\/oauth2\/authorize\/answer\?/)
      assert.deepEqual([other.status, first.status, second.status], [400, 200, 400])
      assert.match(first.body, /name="code"/)
    })

    test('prompt=login asks a signed-in user again, and only a new sign-in will do', async () => {
      const { api } = shared()
      const browser = await signedIn()

      const { id } = await ask({ client_id: own.clientId, prompt: 'login' }, browser)
      const shown = await browser.show(id)
      const continued = await browser.decide(id, { action: 'continue' })
      const again = await signIn(api, browser, id)

      assert.deepEqual([shown.body.step, shown.body.account], ['sign-in', null])
      assert.equal(shown.body.loginHint, 'alice')
      assert.deepEqual([continued.status, continued.body.code], [409, 'SIGN_IN_REQUIRED'])
      assert.equal(again.body.step, 'done')
    })

    test('max_age asks again when the sign-in is older', async () => {
      const { clock } = shared()
      const browser = await signedIn()
      clock.advance(100)

      const older = await ask({ client_id: own.clientId, max_age: '50' }, browser)
      const younger = await ask({ client_id: own.clientId, max_age: '200' }, browser)
      const always = await ask({ client_id: own.clientId, max_age: '0' }, browser)
      const none = await ask({ client_id: own.clientId, max_age: '50', prompt: 'none' }, browser)

      assert.ok(older.id)
      assert.ok(younger.code)
      assert.ok(always.id)
      assert.equal(none.query.get('error'), 'login_required')
    })

    test('select_account offers the account, another one, and continues with either', async () => {
      const { api } = shared()
      const browser = await signedIn()

      const first = await ask({ client_id: own.clientId, prompt: 'select_account' }, browser)
      const offered = await browser.show(first.id)
      const continued = await browser.decide(first.id, { action: 'continue' })
      const second = await ask({ client_id: own.clientId, prompt: 'select_account' }, browser)
      const switched = await browser.decide(second.id, { action: 'switch' })
      const asAdmin = await signIn(api, browser, second.id, { as: ADMIN })

      assert.deepEqual(offered.body.account, { username: 'alice', email: ALICE.email })
      assert.equal(continued.body.step, 'done')
      assert.deepEqual([switched.body.step, switched.body.account], ['sign-in', null])
      assert.equal(asAdmin.body.account.username, 'admin')
    })

    test('id_token_hint of another user asks for that user', async () => {
      const { api } = shared()
      const { id_token } = await obtainTokens(api, own)
      const browser = await signedIn(ADMIN)

      const none = await ask(
        { client_id: own.clientId, id_token_hint: id_token, prompt: 'none' },
        browser,
      )
      const alice = await signedIn()
      const same = await ask(
        { client_id: own.clientId, id_token_hint: id_token, prompt: 'none' },
        alice,
      )

      assert.equal(none.query.get('error'), 'login_required')
      assert.ok(same.code)
    })

    test('prompt=create, login_hint and ui_locales reach the page', async () => {
      const browser = openBrowser(shared().api)

      const { id } = await ask(
        { prompt: 'create', login_hint: 'unknown@example.com', ui_locales: 'fr de-CH en' },
        browser,
      )

      const { body } = await browser.show(id)
      assert.deepEqual(
        [body.create, body.loginHint, body.locale],
        [true, 'unknown@example.com', 'de'],
      )
      assert.deepEqual([body.methods, body.providers], [['password', 'passkey'], []])
    })

    test('consent is asked once, again for more, and always with prompt=consent', async () => {
      const { api } = shared()
      const other = await registerClient(api)
      const { browser } = await obtainCode(api, other, { parameters: { scope: 'openid email' } })
      const next = (change: Fields) => ask({ client_id: other.clientId, ...change }, browser)

      assert.ok((await next({ scope: 'openid' })).code)
      assert.ok((await next({ scope: 'openid', prompt: 'consent' })).id)
      const more = await next({ scope: 'openid profile', prompt: 'none' })
      assert.equal(more.query.get('error'), 'consent_required')
      const resource = await next({ scope: 'openid', resource: RESOURCE, prompt: 'none' })
      assert.equal(resource.query.get('error'), 'consent_required')
    })

    test('deny answers access_denied, and the request is over', async () => {
      const browser = openBrowser(shared().api)
      const { id } = await ask({}, browser)

      const denied = await browser.decide(id, { action: 'deny' })

      const query = new URL(denied.body.redirectTo).searchParams
      assert.deepEqual([query.get('error'), query.get('state')], ['access_denied', 'some state'])
      assert.equal((await browser.show(id)).body.code, 'AUTHORIZATION_UNKNOWN')
      assert.equal((await browser.decide(id, { action: 'deny' })).status, 404)
    })

    test('allow and continue are refused before a sign-in', async () => {
      const browser = openBrowser(shared().api)
      const { id } = await ask({}, browser)

      for (const action of ['allow', 'continue']) {
        const { status, body } = await browser.decide(id, { action })
        assert.deepEqual([status, body.code], [409, 'SIGN_IN_REQUIRED'])
      }
    })

    test('a request is unknown without its cookie, and under a part of its id', async () => {
      const { api } = shared()
      const browser = openBrowser(api)
      const { id } = await browser.authorize(requestOf(client).parameters)

      const replies = [await openBrowser(api).show(id), await browser.show(id.slice(1))]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [404, 'AUTHORIZATION_UNKNOWN'])
      assert.equal((await browser.show(id)).status, 200)
    })

    test('a request is over after ten minutes', async () => {
      const { clock } = shared()
      const browser = openBrowser(shared().api)
      const { id } = await ask({}, browser)

      clock.advance(599)
      const before = await browser.show(id)
      clock.advance(2)

      assert.equal(before.status, 200)
      assert.equal((await browser.show(id)).status, 404)
    })

    test('another tab goes on after a sign-in in the first', async () => {
      const { api, config } = shared()
      const browser = openBrowser(api)
      const first = await ask({ client_id: own.clientId }, browser)
      const second = await ask({ client_id: own.clientId }, browser)

      await signIn(api, browser, first.id)
      const shown = await browser.show(second.id)
      const answered = await browser.open(shown.body.redirectTo.slice(config.publicUrl.length))

      assert.equal(shown.body.step, 'done')
      assert.match(
        answered.headers.get('location') ?? '',
        /^https:\/\/wiki\.example\/callback\?code=/,
      )
    })

    test('the decision must be JSON of our own page', async () => {
      const { api, config } = shared()
      const browser = openBrowser(api)
      const { id } = await ask({}, browser)
      const send = async (headers: Fields, body = JSON.stringify({ action: 'switch' })) => {
        const all = { cookie: browser.cookie ?? '', 'content-type': 'application/json', ...headers }
        const reply = await api.request('POST', `/api/authorizations/${id}`, { headers: all, body })
        return [reply.status, reply.body.code ?? reply.body.step]
      }

      assert.deepEqual(await send({ origin: new URL(config.publicUrl).origin }), [200, 'sign-in'])
      for (const origin of ['https://evil.example', 'null', 'http://localhost'])
        assert.deepEqual(await send({ origin }), [403, 'ORIGIN_REJECTED'])
      for (const site of ['cross-site', 'same-site'])
        assert.deepEqual(await send({ 'sec-fetch-site': site }), [403, 'ORIGIN_REJECTED'])
      const [form] = await send(
        { 'content-type': 'application/x-www-form-urlencoded' },
        'action=deny',
      )
      assert.equal(form, 415)
    })

    test('the cookie is new at each sign-in, and the old one ends', async () => {
      const { api } = shared()
      const browser = await signedIn()
      const old = browser.cookie
      const { id } = await ask({ client_id: own.clientId, prompt: 'login' }, browser)

      const again = await signIn(api, browser, id)

      const stale = openBrowser(api)
      stale.setCookie(old)
      const header = again.headers.get('set-cookie') ?? ''
      assert.match(header, /^plinth-sso=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax$/)
      assert.notEqual(browser.cookie, old)
      assert.ok((await ask({ client_id: own.clientId }, browser)).code)
      assert.ok((await ask({ client_id: own.clientId }, stale)).id)
    })

    test('a browser that is not remembered is signed out after 12 hours without use', async () => {
      const { clock } = shared()
      const browser = await signedIn()
      const next = () => ask({ client_id: own.clientId, prompt: 'none' }, browser)

      clock.advance(11 * 3600)
      const used = await next()
      clock.advance(11 * 3600)
      const usedAgain = await next()
      clock.advance(12 * 3600 + 1)
      const late = await next()

      assert.ok(used.code)
      assert.ok(usedAgain.code)
      assert.equal(late.query.get('error'), 'login_required')
    })

    test('a browser that is remembered stays signed in for 14 days of no use, and 90 in all', async () => {
      const { clock } = shared()
      const browser = await signedIn(ALICE, true)
      const next = () => ask({ client_id: own.clientId, prompt: 'none' }, browser)

      clock.advance(13 * 86_400)
      const used = await next()
      const header = used.reply.headers.get('set-cookie') ?? ''
      for (let days = 26; days < 90; days += 13) {
        clock.advance(13 * 86_400)
        assert.ok((await next()).code)
      }
      clock.advance(13 * 86_400)

      assert.match(header, /; Max-Age=1209600$/)
      assert.equal((await next()).query.get('error'), 'login_required')
    })

    test('the id token has what the standard asks for', async () => {
      const { api, config } = shared()

      const tokens = await obtainTokens(api, own)

      const id = claimsIn(tokens.id_token)
      const access = claimsIn(tokens.access_token)
      assert.equal(id.exp - id.iat, 900)
      assert.deepEqual([id.iss, access.iss], [config.accounts.issuer, config.accounts.issuer])
      assert.deepEqual([id.sid, access.sid === id.sid], [access.sid, true])
      assert.deepEqual([access.client_id, access.scope], [own.clientId, tokens.scope])
      assert.deepEqual([access.amr, access.auth_time], [['pwd'], id.auth_time])
      assert.equal(typeof id.at_hash, 'string')
    })
  })
