import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { decodeJwt } from 'jose'
import { until } from '../../../test/until.ts'
import { enrol } from './authenticator-app.ts'
import {
  ADA,
  ALICE_THERE,
  openBrowser,
  settingsFor,
  startFederated,
  startWithAliceAndAcme,
} from './federated.ts'
import { kindsTo, mailTo } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, bothEngines, engines, startIdentity } from './start-identity.ts'
import { type Faults, startUpstream } from './upstream.ts'

const hour = 3600

const FAULTS: Record<string, Faults> = {
  'a signature of another key': { signedWith: 'another key' },
  'alg none': { signedWith: 'none' },
  'HS256 with the public key as the secret': { signedWith: 'HS256' },
  'HS256 with the client secret': { signedWith: 'the client secret' },
  'another issuer': { claims: { iss: 'https://evil.example' } },
  'another audience': { claims: { aud: 'another client' } },
  'a further audience without azp': { claims: { aud: ['client-of-plinth', 'another'] } },
  'another authorized party': { claims: { azp: 'another client' } },
  'another nonce': { claims: { nonce: 'replayed' } },
  'no nonce': { claims: { nonce: undefined } },
  'no expiry': { claims: { exp: undefined } },
  'no subject': { claims: { sub: undefined } },
  'a subject that is no text': { claims: { sub: 7 } },
  'a subject that no database stores': { claims: { sub: 'a\0b' } },
  'a subject with half of a character, which all databases store alike': {
    claims: { sub: '\ud800' },
  },
  'an error with status 200': { answers: { token: { body: { error: 'bad_verification_code' } } } },
  'a page instead of JSON': {
    answers: { token: { headers: { 'content-type': 'text/html' }, body: '<p>sorry' } },
  },
  'no id token': { answers: { token: { body: { access_token: 'a', token_type: 'Bearer' } } } },
  'a redirect of the token endpoint': {
    answers: { token: { status: 307, headers: { location: 'https://evil.example/' } } },
  },
  'an answer without end': {
    answers: { token: { body: { access_token: 'a'.repeat(600_000), token_type: 'Bearer' } } },
  },
}

for (const engine of engines) {
  describe(`a provider whose answer is wrong, on ${engine.name}`, engine.options, () => {
    test('signs no one in, whatever is wrong', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine })
      const past = Math.floor(clock().getTime() / 1000) - hour
      const faults = { ...FAULTS, 'an expired token': { claims: { exp: past } } }

      for (const [fault, switched] of Object.entries(faults)) {
        upstream.faults = switched
        const { error, ticket } = await openBrowser(api).visit(upstream, ADA)
        assert.deepEqual([error, ticket], ['provider_failed', ''], fault)
      }
      upstream.faults = {}
      assert.equal((await openBrowser(api).signIn(upstream, ADA)).status, 200)
    })

    test('signs no one in while its keys cannot be had, and follows no redirect to others', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const elsewhere = { status: 302, headers: { location: 'https://evil.example/' } }

      for (const keys of [elsewhere, { status: 500 }, { body: { keys: [] } }]) {
        upstream.faults = { answers: { keys } }
        assert.equal((await openBrowser(api).visit(upstream, ADA)).error, 'provider_failed')
      }
    })

    test('says nothing about others in userinfo: its subject must be the same', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      upstream.userInfo = { sub: 'another', email: ALICE.email, email_verified: true }

      const { error } = await openBrowser(api).visit(upstream, { sub: 'thin-1' })

      assert.equal(error, 'provider_failed')
    })

    test('thin tokens: userinfo fills in the address', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      upstream.userInfo = { email: 'thin@example.com', email_verified: true }

      const { status, body } = await openBrowser(api).signIn(upstream, { sub: 'thin-1' })

      assert.equal(status, 200)
      const { body: me } = await api.get('/api/users/me', { token: body.accessToken })
      assert.equal(me.email, 'thin@example.com')
    })

    test('thin tokens: userinfo cannot verify the address of the id token with its own', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      upstream.userInfo = { email: 'own@evil.example', email_verified: true }

      const { status, body } = await openBrowser(api).signIn(upstream, {
        sub: 'thin-1',
        email: ALICE.email,
      })

      assert.equal(status, 200)
      const { body: me } = await api.get('/api/users/me', { token: body.accessToken })
      assert.equal(me.email, 'own@evil.example')
    })

    test('only email_verified true counts', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })

      for (const verified of ['true', 1, 'yes', false, null]) {
        const person = { ...ADA, email_verified: verified }
        const { body } = await openBrowser(api).signIn(upstream, person)
        assert.equal(body.code, 'EMAIL_NOT_VERIFIED_BY_PROVIDER', String(verified))
      }
    })

    test('that is down answers 503 at the start and delays nothing else', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      upstream.faults = { answers: { discovery: { status: 503 } } }

      const { status, body, headers } = await openBrowser(api).start()
      const again = await openBrowser(api).start()

      assert.deepEqual([status, body.code], [503, 'PROVIDER_UNAVAILABLE'])
      assert.equal(headers.get('retry-after'), '10')
      assert.equal(again.status, 503)
      assert.equal(upstream.requests.length, 1)
      assert.equal((await api.get('/actuator/health')).body.status, 'UP')
      assert.equal((await api.get('/api/auth/providers')).status, 200)
    })

    test('that comes back is asked again after a moment, and its document is kept when it goes', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine })
      upstream.faults = { answers: { discovery: { status: 503 } } }
      assert.equal((await openBrowser(api).start()).status, 503)
      upstream.faults = {}
      clock.advance(11)
      assert.equal((await openBrowser(api).start()).status, 200)
      upstream.faults = { answers: { discovery: { status: 503 } } }
      clock.advance(2 * hour)

      assert.equal((await openBrowser(api).start()).status, 200)
    })

    test('whose document names another issuer, or addresses without https, is not used', async (t) => {
      for (const document of [
        { issuer: 'https://evil.example' },
        { token_endpoint: 'http://evil.example/token' },
        { jwks_uri: 'file:///etc/passwd' },
        { authorization_endpoint: 'javascript:alert(1)' },
        { token_endpoint: undefined },
      ]) {
        const { api, upstream } = await startFederated(t, { engine })
        upstream.faults = { document }

        assert.equal((await openBrowser(api).start()).status, 503, JSON.stringify(document))
      }
    })

    test('that hangs is given up within 15 seconds, while others sign in', {
      tags: ['all'],
    }, async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const answer = upstream.agree(await browser.goTo(), ADA)
      upstream.faults = { hangs: ['token'] }
      const started = performance.now()

      const back = browser.back(answer)
      assert.ok(await adminToken(api))
      const { error } = await back

      assert.equal(error, 'provider_failed')
      assert.ok(performance.now() - started < 15_000)
    })
  })

  describe(`attacks on sign-ins with providers on ${engine.name}`, engine.options, () => {
    test('mix-up: a state of one provider is not accepted from another', async (t) => {
      const { api, upstream } = await startTwo(t)
      const browser = openBrowser(api)
      const answer = upstream.agree(await browser.goTo({ provider: 'acme' }), ADA)

      const crossed = await browser.back(answer, 'other')

      assert.deepEqual([crossed.status, crossed.location], [400, ''])
    })

    test('mix-up: an iss parameter must be that of the provider, and be there if promised', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      upstream.faults = { document: { authorization_response_iss_parameter_supported: true } }
      const browser = openBrowser(api)
      const comeBack = async (iss?: string) => {
        const answer = upstream.agree(await browser.goTo(), ADA)
        if (iss !== undefined) answer.set('iss', iss)
        return (await browser.back(answer)).error
      }

      assert.equal(await comeBack('https://evil.example'), 'provider_failed')
      assert.equal(await comeBack(), 'provider_failed')
      assert.equal(await comeBack(upstream.issuer), null)
    })

    test('login CSRF: an answer that was begun in another browser is refused as a page, and stays valid', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const [attacker, victim] = [openBrowser(api), openBrowser(api)]
      const answer = upstream.agree(await attacker.goTo(), ADA)
      await victim.goTo()

      const { status, headers, location } = await victim.back(answer)

      assert.deepEqual([status, location], [400, ''])
      assert.match(headers.get('content-type') ?? '', /^text\/html/)
      assert.equal((await attacker.back(answer)).status, 303)
    })

    test('cookie tossing: over https only a cookie counts that no other host can set', async (t) => {
      const env = { IDENTITY_PUBLIC_URL: 'https://id.example', IDENTITY_ALLOWED_HOSTS: '127.0.0.1' }
      const { api, upstream } = await startFederated(t, { engine, env })
      const attacker = openBrowser(api)
      const answer = upstream.agree(await attacker.goTo(), ADA)
      const [name = '', value = ''] = attacker.cookie().split('=')
      assert.equal(name, '__Host-plinth-federation')

      const tossed = { headers: { cookie: `plinth-federation=${value}` } }
      const { status } = await api.get(`/federation/acme/callback?${answer}`, tossed)

      assert.equal(status, 400)
    })

    test('login CSRF: a planted ticket is useless without the verifier of the page', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const [attacker, victim] = [openBrowser(api), openBrowser(api)]
      const { ticket } = await attacker.visit(upstream, ADA)

      const planted = await victim.finish(ticket)

      assert.deepEqual([planted.status, planted.body.code], [400, 'TICKET_INVALID'])
    })

    test('ticket theft: a stolen ticket is useless, and the owner can still use it, once, for a minute', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ADA)

      assert.equal((await openBrowser(api).finish(ticket)).status, 400)
      assert.equal((await browser.finish(ticket, { verifier: 'a'.repeat(43) })).status, 400)
      assert.equal((await browser.finish(ticket)).status, 200)
      assert.equal((await browser.finish(ticket)).status, 400)
      const late = await browser.visit(upstream, ADA)
      clock.advance(60)
      assert.equal((await browser.finish(late.ticket)).status, 400)
    })

    test('state replay: a state works once, for ten minutes', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const answer = upstream.agree(await browser.goTo(), ADA)
      assert.equal((await browser.back(answer)).status, 303)

      assert.equal((await browser.back(answer)).status, 400)
      const old = upstream.agree(await browser.goTo(), ADA)
      clock.advance(600)
      assert.equal((await browser.back(old)).status, 400)
      const made = new URLSearchParams({ code: 'x', state: 'made up' })
      assert.equal((await browser.back(made)).status, 400)
    })

    test('code injection: a code that was issued to another round is refused by the provider', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const [victim, attacker] = [openBrowser(api), openBrowser(api)]
      const stolen = upstream.agree(await victim.goTo(), ADA).get('code') ?? ''
      const answer = upstream.agree(await attacker.goTo(), { sub: 'attacker' })
      answer.set('code', stolen)

      assert.equal((await attacker.back(answer)).error, 'provider_failed')
    })

    test('pre-hijack: linking by address empties an account whose address was never verified', async (t) => {
      const provider = { LINK_BY_EMAIL: 'true' }
      const hijacked = { engine, provider, verified: false }
      const { api, upstream, token, clock, userId } = await startWithAliceAndAcme(t, hijacked)
      const passkey = await startPasskeyClient(api)
      await passkey.register(token)
      const trojan = openBrowser(api)
      const { ticket } = await trojan.visit(upstream, { sub: 'attacker' }, { token })
      assert.equal((await trojan.finish(ticket, { token })).status, 200)
      await enrol(api, token, clock)

      const { status, body } = await openBrowser(api).signIn(upstream, ALICE_THERE)

      assert.equal(status, 200)
      assert.equal(decodeJwt(body.accessToken).sub, String(userId))
      const own = { token: body.accessToken as string }
      const { body: security } = await api.get('/api/users/me/security', own)
      assert.deepEqual(
        [security.emailVerified, security.password, security.secondFactor],
        [true, false, false],
      )
      assert.deepEqual((await api.get('/api/users/me/passkeys', own)).body, [])
      assert.equal((await api.get('/api/users/me/identities', own)).body.length, 1)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
    })

    test('trojan identity: an attacker who linked their own loses it when the owner proves the address', async (t) => {
      const env = { IDENTITY_SIGN_IN_CODE: 'true' }
      const hijacked = { engine, env, verified: false }
      const { api, upstream, token, userId } = await startWithAliceAndAcme(t, hijacked)
      const trojan = openBrowser(api)
      const { ticket } = await trojan.visit(upstream, { ...ADA, sub: 'attacker' }, { token })
      await trojan.finish(ticket, { token })
      const { body: asked } = await api.post('/api/auth/code', { email: ALICE.email })
      const { code } = await mailTo(api, ALICE.email, 'sign-in-code')

      const confirmed = { requestToken: asked.requestToken, code }
      const { body } = await api.post('/api/auth/code/confirm', confirmed)

      const own = { token: body.accessToken as string }
      assert.deepEqual((await api.get('/api/users/me/identities', own)).body, [])
      const { body: pair } = await openBrowser(api).signIn(upstream, { ...ADA, sub: 'attacker' })
      assert.notEqual(decodeJwt(pair.accessToken).sub, String(userId))
    })

    test('nOAuth: an address that the provider does not vouch for never finds an account', async (t) => {
      const provider = { LINK_BY_EMAIL: 'true' }
      const { api, upstream } = await startWithAliceAndAcme(t, { engine, provider })

      const { status, body } = await openBrowser(api).signIn(upstream, {
        sub: 'attacker',
        email: ALICE.email,
      })

      assert.deepEqual([status, body.code], [403, 'EMAIL_NOT_VERIFIED_BY_PROVIDER'])
      assert.equal(body.linkToken, undefined)
    })

    test('enumeration by sign-up: a taken address gets the same reply, its owner a mail, the asker no code', async (t) => {
      const { api, upstream } = await startWithAliceAndAcme(t, { engine })
      const { body } = await openBrowser(api).signIn(upstream, { sub: 'attacker' })
      const { signUpToken } = body
      const ask = (email: string) => api.post('/api/auth/providers/sign-up', { signUpToken, email })

      const taken = await ask(ALICE.email)
      const { code } = await mailTo(api, ALICE.email, 'already-registered')
      const guess = { signUpToken, code: '00000000' }
      const refused = await api.post('/api/auth/providers/sign-up/confirm', guess)
      const free = await ask('free@example.com')

      assert.deepEqual([taken.status, taken.body], [free.status, free.body])
      assert.equal(code, null)
      assert.deepEqual([refused.status, refused.body.code], [401, 'INVALID_CODE'])
      const kinds = await until(
        () => kindsTo(api, 'free@example.com'),
        (found) => found.length > 0,
      )
      assert.deepEqual(kinds, ['sign-up-code'])
    })

    test('open redirect: the callback goes only where the start was allowed to', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const answer = upstream.agree(await browser.goTo(), ADA)
      answer.set('returnTo', 'https://evil.example/')
      answer.set('redirect_uri', 'https://evil.example/')

      assert.match((await browser.back(answer)).location, /^https:\/\/app\.example\/signed-in#/)
    })

    test('an answer may have question marks, which no browser encodes', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const answer = upstream.agree(await browser.goTo(), ADA)

      const { headers } = await api.get(`/federation/acme/callback?x=?&${answer}`, {
        headers: { cookie: browser.cookie() },
      })

      assert.match(headers.get('location') ?? '', /#ticket=/)
    })

    test('a posted answer is sent on as a navigation, without what else was posted', async (t) => {
      const { api } = await startFederated(t, { engine })
      const form = new URLSearchParams({ state: 's', code: 'c', user: '{"name":"Ada"}' })

      const { status, headers } = await api.request('POST', '/federation/acme/callback', {
        headers: { 'content-type': 'application/x-www-form-urlencoded' },
        body: form.toString(),
      })

      assert.deepEqual([status, headers.get('location')], [303, '?state=s&code=c'])
    })
  })

  /** Two providers, `acme` and `other`, at one upstream. */
  async function startTwo(t: TestContext) {
    const clock = testClock()
    const upstream = await startUpstream(t, clock)
    const own = settingsFor(upstream)
    const others = Object.entries(own).map(([name, value]) => [
      name.replace('_ACME_', '_OTHER_'),
      value,
    ])
    const env = { ...Object.fromEntries(others), ...own, IDENTITY_PROVIDERS: 'acme,other' }
    return { ...(await startIdentity(t, { engine, clock, env })), upstream }
  }
}

for (const engine of bothEngines)
  describe(`races of sign-ins with providers on ${engine.name}`, engine.options, () => {
    test('first sign-ins of one identity at the same time create one account', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browsers = Array.from({ length: 4 }, () => openBrowser(api))
      const tickets = await Promise.all(
        browsers.map(async (browser) => (await browser.visit(upstream, ADA)).ticket),
      )

      const replies = await Promise.all(
        browsers.map((browser, n) => browser.finish(tickets[n] as string)),
      )

      assert.deepEqual(
        replies.map(({ status }) => status),
        [200, 200, 200, 200],
      )
      const users = new Set(replies.map(({ body }) => decodeJwt(body.accessToken).sub))
      assert.equal(users.size, 1)
    })

    test('the name of a provider that no database stores is unknown', async (t) => {
      const { api } = await startFederated(t, { engine })

      for (const path of ['open?request=x', 'callback?state=x'])
        assert.equal((await api.get(`/federation/a%00b/${path}`)).status, 400)
    })

    test('one of several uses of a ticket signs in', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ADA)

      const replies = await Promise.all(Array.from({ length: 5 }, () => browser.finish(ticket)))

      assert.deepEqual(replies.map(({ status }) => status).toSorted(), [200, 400, 400, 400, 400])
    })
  })
