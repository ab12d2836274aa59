import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { before, describe, test } from 'node:test'
import { createLocalJWKSet, jwtVerify } from 'jose'
import {
  type Browser,
  CALLBACK,
  claimsIn,
  type Fields,
  formRequest,
  newProof,
  openBrowser,
  type Registered,
  refreshWith,
  registerClient,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ALICE, engines, sharedIdentity, startIdentity } from './start-identity.ts'

// The modules of the plans of OpenID certification, each as a test of its name: docs/openid-conformance.md. Like
// the suite, the client authenticates with Basic and sends no challenge, and the user is asked for consent.
const PLANS = { Basic: 'query', 'Form Post': 'form_post' }
const ADDRESS = 'https://id.example'

for (const engine of engines)
  for (const [plan, mode] of Object.entries(PLANS))
    describe(`the ${plan} plan on ${engine.name}`, engine.options, () => {
      const shared = sharedIdentity({ engine })
      let client: Registered

      before(async () => {
        client = await registerClient(shared().api, { requirePkce: false })
      })

      function request(change: Fields = {}): Fields {
        return {
          client_id: client.clientId,
          redirect_uri: CALLBACK,
          response_type: 'code',
          scope: 'openid',
          state: 'the state',
          ...(mode !== 'query' && { response_mode: mode }),
          ...('code_challenge' in change ? {} : { nonce: 'the nonce' }),
          ...change,
        }
      }

      /** What the client gets, and whether the user had to sign in for it. */
      async function authorize(change: Fields = {}, browser = openBrowser(shared().api)) {
        return follow(browser, (await browser.authorize(request(change))).reply)
      }

      async function follow(browser: Browser, reply: Reply): Promise<Authorized> {
        const id = new URL(reply.headers.get('location') ?? 'none:').searchParams.get(
          'authorization',
        )
        if (id === null) return { browser, answer: answerIn(reply), signedIn: false }
        const { api, config } = shared()
        const shown = await browser.show(id)
        const signedIn = shown.body.step === 'sign-in'
        const next = signedIn ? await signIn(api, browser, id) : shown
        const { body } =
          next.body.step === 'consent' ? await browser.decide(id, { action: 'allow' }) : next
        assert.equal(body.step, 'done', JSON.stringify(body))
        if (mode === 'query')
          return { browser, answer: new URL(body.redirectTo).searchParams, signedIn }
        const page = await browser.open(body.redirectTo.slice(config.publicUrl.length))
        return { browser, answer: answerIn(page), signedIn }
      }

      const exchange = (answer: URLSearchParams, more: Fields = {}) =>
        formRequest(
          shared().api,
          '/oauth2/token',
          {
            grant_type: 'authorization_code',
            code: answer.get('code') ?? '',
            redirect_uri: CALLBACK,
            ...more,
          },
          basicOf(client),
        )

      async function obtain(change: Fields = {}, browser?: Browser) {
        const authorized = await authorize(change, browser)
        const { status, headers, body } = await exchange(authorized.answer)
        assert.equal(status, 200, JSON.stringify(body))
        return { ...authorized, headers, tokens: body, claims: claimsIn(body.id_token) }
      }

      async function infoOf(scope: string) {
        const { tokens } = await obtain({ scope })
        const { body } = await shared().api.get('/oauth2/userinfo', { token: tokens.access_token })
        return { ...body, granted: tokens.scope }
      }

      async function publishedKeys() {
        return (await shared().api.get('/.well-known/jwks.json')).body
      }

      test('oidcc-server: a code gives an ID token of this request, an access token and userinfo', async () => {
        const { api, config, clock, userId } = shared()

        const { answer, tokens, headers } = await obtain()

        const issuer = config.accounts.issuer
        assert.deepEqual([answer.get('state'), answer.get('iss')], ['the state', issuer])
        assert.equal(headers.get('cache-control'), 'no-store')
        assert.equal(tokens.token_type, 'Bearer')
        const rules = { issuer, audience: client.clientId, currentDate: clock() }
        const keys = createLocalJWKSet(await publishedKeys())
        const { payload } = await jwtVerify(tokens.id_token, keys, rules)
        assert.deepEqual([payload.sub, payload.nonce], [String(userId), 'the nonce'])
        const hash = createHash('sha256').update(tokens.access_token).digest()
        assert.equal(payload.at_hash, hash.subarray(0, 16).toString('base64url'))
        const info = await api.get('/oauth2/userinfo', { token: tokens.access_token })
        assert.equal(info.body.sub, payload.sub)
      })

      test('oidcc-response-type-missing: the client gets an error', async () => {
        const { answer } = await authorize({ response_type: '' })

        assert.deepEqual(
          [answer.get('error'), answer.get('state')],
          ['invalid_request', 'the state'],
        )
      })

      test('oidcc-idtoken-signature: RS256, with the id of a published key', async () => {
        const { tokens } = await obtain()

        const [head = ''] = tokens.id_token.split('.')
        const { alg, kid } = JSON.parse(Buffer.from(head, 'base64url').toString())
        const { keys } = await publishedKeys()
        const key = keys.find((one: { kid: string }) => one.kid === kid)
        assert.deepEqual([alg, key?.kty, key?.use], ['RS256', 'RSA', 'sig'])
      })

      test('oidcc-idtoken-unsigned: is neither offered nor registered', async () => {
        const { api } = shared()
        const { body } = await api.get('/.well-known/openid-configuration')
        const admin = await api.post('/api/auth/login', {
          username: 'admin',
          password: 'password123123',
        })

        const { status } = await api.post(
          '/api/clients',
          { name: 'Wiki', redirectUris: [CALLBACK], idTokenAlg: 'none' },
          { token: admin.body.accessToken },
        )

        assert.deepEqual(body.id_token_signing_alg_values_supported, ['RS256', 'ES256'])
        assert.equal(status, 400)
      })

      test('oidcc-userinfo-get, oidcc-userinfo-post-header and oidcc-userinfo-post-body: all three give the claims', async () => {
        const { api } = shared()
        const { tokens, claims } = await obtain()
        const { access_token } = tokens
        const header = { authorization: `Bearer ${access_token}` }

        const replies = [
          await api.get('/oauth2/userinfo', { token: access_token }),
          await formRequest(api, '/oauth2/userinfo', {}, header),
          await formRequest(api, '/oauth2/userinfo', { access_token }),
        ]

        for (const { status, body } of replies)
          assert.deepEqual([status, body.sub], [200, claims.sub])
      })

      test('oidcc-ensure-request-without-nonce-succeeds-for-code-flow: with a challenge; without either it is refused', async () => {
        const { verifier, challenge } = newProof()
        const proof = { code_challenge: challenge, code_challenge_method: 'S256' }

        const { answer } = await authorize(proof)
        const { status, body } = await exchange(answer, { code_verifier: verifier })
        const neither = await authorize({ nonce: '' })

        assert.equal(status, 200)
        assert.equal('nonce' in claimsIn(body.id_token), false)
        assert.equal(neither.answer.get('error'), 'invalid_request')
      })

      test('oidcc-scope-profile and oidcc-scope-email: userinfo has the claims that we know', async () => {
        const { sub, granted, ...profile } = await infoOf('openid profile')
        const { email, email_verified, preferred_username } = await infoOf('openid email')

        assert.deepEqual(profile, { name: 'alice', preferred_username: 'alice' })
        assert.deepEqual([granted, typeof sub], ['openid profile', 'string'])
        assert.deepEqual(
          [email, email_verified, preferred_username],
          [ALICE.email, false, undefined],
        )
      })

      test('oidcc-scope-address, oidcc-scope-phone and oidcc-scope-all: unknown scopes are not offered, and ignored', async () => {
        const { body } = await shared().api.get('/.well-known/openid-configuration')

        const address = await infoOf('openid address')
        const phone = await infoOf('openid phone')
        const all = await infoOf('openid profile email address phone')

        assert.deepEqual([address.granted, phone.granted], ['openid', 'openid'])
        assert.deepEqual([all.granted, all.email], ['openid profile email', ALICE.email])
        for (const name of ['address', 'phone'])
          assert.equal(body.scopes_supported.includes(name), false)
      })

      test('oidcc-ensure-other-scope-order-succeeds: the order of scopes does not matter', async () => {
        assert.equal((await infoOf('email openid')).email, ALICE.email)
      })

      test('oidcc-display-page, oidcc-display-popup, oidcc-claims-locales and oidcc-ensure-request-with-unknown-parameter-succeeds: are ignored', async () => {
        for (const change of [
          { display: 'page' },
          { display: 'popup' },
          { claims_locales: 'se' },
          { extra: 'foobar' },
        ] as Fields[])
          assert.ok((await obtain(change)).tokens.id_token)
      })

      test('oidcc-prompt-login: the user signs in again, later', async () => {
        const { clock } = shared()
        const first = await obtain()
        clock.advance(2)

        const second = await obtain({ prompt: 'login' }, first.browser)

        assert.equal(second.signedIn, true)
        assert.equal(second.claims.auth_time, first.claims.auth_time + 2)
      })

      test('oidcc-prompt-none-not-logged-in: login_required', async () => {
        const { answer } = await authorize({ prompt: 'none' })

        assert.deepEqual(
          [answer.get('error'), answer.get('state')],
          ['login_required', 'the state'],
        )
      })

      test('oidcc-prompt-none-logged-in: the same user, signed in at the same time, without a page', async () => {
        const { clock } = shared()
        const first = await obtain()
        clock.advance(2)

        const second = await obtain({ prompt: 'none' }, first.browser)

        assert.deepEqual(
          [second.claims.sub, second.claims.auth_time],
          [first.claims.sub, first.claims.auth_time],
        )
      })

      test('oidcc-max-age-1: asks again after a second, and auth_time says so', async () => {
        const { clock } = shared()
        const first = await obtain()
        clock.advance(2)

        const second = await obtain({ max_age: '1' }, first.browser)

        assert.equal(second.signedIn, true)
        assert.equal(second.claims.auth_time, first.claims.auth_time + 2)
      })

      test('oidcc-max-age-10000: does not ask again', async () => {
        const { clock } = shared()
        const first = await obtain()
        clock.advance(2)

        const second = await obtain({ max_age: '10000' }, first.browser)

        assert.deepEqual(
          [second.signedIn, second.claims.auth_time],
          [false, first.claims.auth_time],
        )
      })

      test('oidcc-id-token-hint: with prompt=none the user of the hint is answered', async () => {
        const { browser, tokens, claims } = await obtain()

        const second = await obtain({ prompt: 'none', id_token_hint: tokens.id_token }, browser)

        assert.equal(second.claims.sub, claims.sub)
      })

      test('oidcc-login-hint, oidcc-ui-locales and oidcc-ensure-request-with-acr-values-succeeds: the flow goes on', async () => {
        for (const change of [
          { login_hint: 'bob@example.com' },
          { ui_locales: 'se' },
          { acr_values: '1 2' },
        ] as Fields[])
          assert.ok((await obtain(change)).tokens.id_token)
      })

      test('oidcc-codereuse and oidcc-codereuse-30seconds: a second use is refused, and ends the access token', async () => {
        const { api, clock } = shared()
        for (const seconds of [0, 30]) {
          const { answer, tokens } = await obtain()
          clock.advance(seconds)

          const again = await exchange(answer)

          const info = await api.get('/oauth2/userinfo', { token: tokens.access_token })
          assert.deepEqual([again.status, again.body.error], [400, 'invalid_grant'])
          assert.equal(info.status, 401)
        }
      })

      test('oidcc-ensure-registered-redirect-uri: another address gets nothing, the user a page', async () => {
        const redirect_uri = `${CALLBACK}/other`

        const { reply } = await openBrowser(shared().api).authorize(request({ redirect_uri }))

        assert.deepEqual([reply.status, reply.headers.get('location')], [400, null])
        assert.equal(reply.body.includes('<form'), false)
      })

      test('oidcc-ensure-post-request-succeeds: a request can be a form', async () => {
        const { api, config } = shared()
        const browser = openBrowser(api)

        const posted = await formRequest(api, '/oauth2/authorize', request())
        const location = posted.headers.get('location') ?? ''
        const reply = await browser.open(location.slice(config.publicUrl.length))
        const { answer } = await follow(browser, reply)

        assert.equal((await exchange(answer)).status, 200)
      })

      test('oidcc-server-client-secret-post: the secret can be in the form', async () => {
        const { answer } = await authorize()
        const code = answer.get('code') ?? ''
        const fields = { grant_type: 'authorization_code', code, redirect_uri: CALLBACK }

        assert.equal((await tokenRequest(shared().api, fields, client)).status, 200)
      })

      test('oidcc-request-uri-unsigned-supported-correctly-or-rejected-as-unsupported: is rejected', async () => {
        const { answer } = await authorize({ request_uri: 'https://wiki.example/request.jwt' })

        assert.equal(answer.get('error'), 'request_uri_not_supported')
      })

      test('oidcc-unsigned-request-object-supported-correctly-or-rejected-as-unsupported and oidcc-ensure-request-object-with-redirect-uri: are rejected', async () => {
        const part = (value: object) => Buffer.from(JSON.stringify(value)).toString('base64url')
        const object = `${part({ alg: 'none' })}.${part({ redirect_uri: 'https://evil.example/' })}.`

        const { answer } = await authorize({ request: object })

        assert.equal(answer.get('error'), 'request_not_supported')
      })

      test('oidcc-claims-essential: the parameter is ignored, and the scope decides', async () => {
        const claims = JSON.stringify({ userinfo: { name: { essential: true } } })

        const { tokens } = await obtain({ claims, scope: 'openid profile' })

        const info = await shared().api.get('/oauth2/userinfo', { token: tokens.access_token })
        assert.equal(info.body.name, 'alice')
      })

      test('oidcc-refresh-token: gives new tokens about the same user and sign-in', async () => {
        const { tokens, claims } = await obtain({ scope: 'openid offline_access' })

        const { body } = await refreshWith(shared().api, client, tokens.refresh_token)

        const next = claimsIn(body.id_token)
        for (const name of ['iss', 'sub', 'aud', 'auth_time', 'sid'])
          assert.equal(next[name], claims[name], name)
        assert.notEqual(body.refresh_token, tokens.refresh_token)
        assert.equal('nonce' in next, false)
      })

      test('oidcc-ensure-request-with-valid-pkce-succeeds: the verifier is checked', async () => {
        const { verifier, challenge } = newProof()
        const proof = { code_challenge: challenge, code_challenge_method: 'S256' }

        const { answer } = await authorize(proof)

        const wrong = await exchange(answer, { code_verifier: newProof().verifier })
        const right = await exchange(answer, { code_verifier: verifier })
        assert.deepEqual([wrong.status, right.status], [400, 200])
      })
    })

for (const engine of engines)
  describe(`the Config plan on ${engine.name}`, engine.options, () => {
    test('oidcc-discovery-endpoint-verification: the document and the keys are what the standard asks for', async (t) => {
      const { api } = await startIdentity(t, { engine, env: { IDENTITY_PUBLIC_URL: ADDRESS } })

      const { status, headers, body } = await api.get('/.well-known/openid-configuration')
      const keys = await api.get(new URL(body.jwks_uri).pathname)

      assert.equal(status, 200)
      assert.match(headers.get('content-type') ?? '', /^application\/json/)
      assert.equal(body.issuer, ADDRESS)
      for (const name of ['authorization_endpoint', 'token_endpoint', 'userinfo_endpoint'])
        assert.ok(body[name].startsWith(`${ADDRESS}/`), name)
      const endpoints = Object.entries(body).filter(([name]) => /_(endpoint|uri)$/.test(name))
      for (const [name, address] of endpoints)
        assert.match(String(address), /^https:\/\/id\.example\//, name)
      assert.deepEqual(body.response_types_supported, ['code'])
      assert.deepEqual(body.subject_types_supported, ['public'])
      assert.ok(body.id_token_signing_alg_values_supported.includes('RS256'))
      assert.ok(body.scopes_supported.includes('openid'))
      assert.ok(body.grant_types_supported.includes('authorization_code'))
      assert.deepEqual(body.code_challenge_methods_supported, ['S256'])
      for (const name of ['request', 'request_uri', 'claims'])
        assert.equal(body[`${name}_parameter_supported`], false, name)
      for (const name of ['sub', 'iss', 'auth_time', 'acr', 'name', 'email'])
        assert.ok(body.claims_supported.includes(name), name)
      for (const key of keys.body.keys) {
        assert.deepEqual(
          Object.keys(key).filter((member) => /^(d|p|q|dp|dq|qi|k|oth)$/.test(member)),
          [],
        )
        assert.ok(['RSA', 'EC'].includes(key.kty) && key.kid)
      }
    })
  })

type Reply = Awaited<ReturnType<Browser['open']>>
type Authorized = { browser: Browser; answer: URLSearchParams; signedIn: boolean }

/** What the client is sent, in its address or in the form that the page posts. */
function answerIn({ status, headers, body }: Reply): URLSearchParams {
  if (status === 303) return new URL(headers.get('location') ?? '').searchParams
  assert.equal(status, 200, String(body))
  assert.ok(body.includes(`action="${CALLBACK}"`), body)
  const fields = [...body.matchAll(/name="(\w+)" value="([^"]*)"/g)]
  return new URLSearchParams(fields.map(([, name = '', value = '']) => [name, value]))
}

function basicOf({ clientId, clientSecret }: Registered): Fields {
  const pair = `${encodeURIComponent(clientId)}:${encodeURIComponent(clientSecret ?? '')}`
  return { authorization: `Basic ${Buffer.from(pair).toString('base64')}` }
}
