import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { identityClient } from '@plinth/client'
import { decodeJwt } from 'jose'
import { until } from '../../../test/until.ts'
import { enrol } from './authenticator-app.ts'
import {
  ADA,
  ALICE_THERE,
  APP,
  openBrowser,
  RETURN_TO,
  startFederated,
  startWithAliceAndAcme,
} from './federated.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines } from './start-identity.ts'

for (const engine of engines) {
  describe(`a sign-in with a provider on ${engine.name}`, engine.options, () => {
    test('creates an account without a password whose address is verified, and finds it again', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })

      const first = await openBrowser(api).signIn(upstream, ADA)
      const second = await openBrowser(api).signIn(upstream, { ...ADA, email: 'new@example.com' })

      assert.equal(first.status, 200)
      assert.deepEqual(decodeJwt(first.body.accessToken).amr, ['fed'])
      const token = first.body.accessToken as string
      const { body: me } = await api.get('/api/users/me', { token })
      assert.equal(me.email, ADA.email)
      assert.match(me.username, /^user-[a-z2-9]{12}$/)
      const { body: security } = await api.get('/api/users/me/security', { token })
      assert.deepEqual([security.emailVerified, security.password], [true, false])
      assert.equal(decodeJwt(second.body.accessToken).sub, decodeJwt(token).sub)
      assert.equal((await api.post('/api/auth/login', { ...me, password: '' })).status, 400)
      const reset = { email: ADA.email }
      assert.equal((await api.post('/api/auth/password-reset', reset)).status, 202)
      const chosen = {
        token: tokenOf(await mailTo(api, String(ADA.email), 'password-reset')),
        newPassword: 'a password of my own',
      }
      assert.equal((await api.post('/api/auth/password-reset/confirm', chosen)).status, 204)
      const own = { username: me.username, password: chosen.newPassword }
      assert.equal((await api.post('/api/auth/login', own)).status, 200)
    })

    test('goes through an address of ours to the provider, with state, nonce and S256, and back', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)

      const started = await browser.start()
      const opened = await browser.open(started.body.url)

      assert.match(started.body.url, /^http:\/\/localhost:8081\/federation\/acme\//)
      assert.equal(opened.status, 303)
      assert.match(
        opened.headers.get('set-cookie') ?? '',
        /^plinth-federation=[\w-]{43}; Path=\/; HttpOnly; SameSite=Lax; Max-Age=600$/,
      )
      const { origin, searchParams: asked } = new URL(opened.location)
      assert.equal(origin, upstream.url)
      assert.equal(asked.get('redirect_uri'), 'http://localhost:8081/federation/acme/callback')
      assert.equal(asked.get('code_challenge_method'), 'S256')
      for (const name of ['state', 'nonce', 'code_challenge'])
        assert.match(asked.get(name) ?? '', /^[\w-]{43}$/)
      assert.equal((await browser.open(started.body.url)).status, 400)
      const back = await browser.back(upstream.agree(opened.location, ADA))
      assert.equal(back.status, 303)
      assert.match(back.location, /^https:\/\/app\.example\/signed-in#ticket=[\w-]{43}$/)
      assert.equal(back.headers.get('referrer-policy'), 'no-referrer')
    })

    test('lists the providers, and nothing secret about them', async (t) => {
      const { api } = await startFederated(t, { engine })

      const { body } = await api.get('/api/auth/providers')

      assert.deepEqual(body, [{ id: 'acme', name: 'Acme', type: 'oidc' }])
    })

    test('takes three calls of the client', async (t) => {
      const { api, baseUrl, upstream } = await startFederated(t, { engine })
      const client = identityClient(baseUrl)
      const browser = openBrowser(api)

      const { url, verifier } = await client.signInWith('acme', RETURN_TO)
      const answer = upstream.agree((await browser.open(url)).location, ADA)
      const { ticket } = await browser.back(answer)
      await client.providers.finish({ ticket, verifier })

      assert.equal((await client.account.get()).email, ADA.email)
      assert.equal((await client.identities.list()).length, 1)
    })

    test('is refused for an unknown provider, and for pages of other origins', async (t) => {
      const { api } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const returningTo = async (returnTo: string) => (await browser.start({ returnTo })).status

      assert.equal((await browser.start({ provider: 'other' })).body.code, 'PROVIDER_NOT_FOUND')
      assert.equal(await returningTo('http://localhost:8081/account/sign-in'), 200)
      assert.equal(await returningTo(`${APP}/anywhere?a=b`), 200)
      for (const target of [
        'https://evil.example/',
        'https://app.example.evil.example/',
        'https://app.example@evil.example/',
        `${APP}/#fragment`,
        'http://localhost:8081/account/../api-test',
        'http://localhost:8081/account',
        'http://localhost:8081.evil.example/account/',
        'javascript:alert(1)',
        '//evil.example/account/',
        'not an address',
      ])
        assert.equal(await returningTo(target), 400, target)
    })

    test('asks for the second factor like a password', async (t) => {
      const { api, upstream, token, clock } = await startWithAliceAndAcme(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ALICE_THERE, { token })
      assert.equal((await browser.finish(ticket, { token })).status, 200)
      const { app } = await enrol(api, token, clock)

      const { status, body } = await openBrowser(api).signIn(upstream, ALICE_THERE)

      assert.deepEqual([status, body.code], [401, 'MFA_REQUIRED'])
      const done = await api.post('/api/auth/mfa', { mfaToken: body.mfaToken, code: app.next() })
      assert.deepEqual(decodeJwt(done.body.accessToken).amr, ['fed', 'otp', 'mfa'])
    })

    test('is refused for a disabled user, and says how to keep an account that is about to be erased', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const { body: pair } = await openBrowser(api).signIn(upstream, ADA)
      const admin = { token: await adminToken(api) }
      const id = decodeJwt(pair.accessToken).sub
      await api.patch(`/api/users/${id}`, { enabled: false }, admin)

      const disabled = await openBrowser(api).signIn(upstream, ADA)
      await api.patch(`/api/users/${id}`, { enabled: true }, admin)
      const { body: again } = await openBrowser(api).signIn(upstream, ADA)
      await api.delete('/api/users/me', { token: again.accessToken })
      const leaving = await openBrowser(api).signIn(upstream, ADA)

      assert.deepEqual([disabled.status, disabled.body.code], [401, 'INVALID_CREDENTIALS'])
      assert.deepEqual([leaving.status, leaving.body.code], [401, 'DELETION_PENDING'])
    })

    test('creates no account where registration is closed, or with a provider that may not sign up', async (t) => {
      const closed = await startFederated(t, { engine, env: { IDENTITY_REGISTRATION: 'closed' } })
      const known = await startFederated(t, { engine, provider: { SIGN_UP: 'false' } })

      for (const { api, upstream } of [closed, known])
        for (const person of [ADA, { sub: 'nameless' }]) {
          const { status, body } = await openBrowser(api).signIn(upstream, person)
          assert.deepEqual([status, body.code], [403, 'REGISTRATION_CLOSED'])
        }
    })

    test('says that the person refused, or that the provider failed', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const browser = openBrowser(api)
      const failedWith = async (error: string) => {
        const { searchParams } = new URL(await browser.goTo())
        return browser.back(new URLSearchParams({ error, state: searchParams.get('state') ?? '' }))
      }

      assert.equal((await failedWith('access_denied')).location, `${RETURN_TO}#error=access_denied`)
      assert.equal(
        (await failedWith('server_error')).location,
        `${RETURN_TO}#error=provider_failed`,
      )
      assert.equal(upstream.requests.filter(({ endpoint }) => endpoint === 'token').length, 0)
    })
  })

  describe(`an identity whose address has an account on ${engine.name}`, engine.options, () => {
    test('is not linked by default: the user signs in and links it with a token, once', async (t) => {
      const { api, upstream, token } = await startWithAliceAndAcme(t, { engine })

      const { status, body } = await openBrowser(api).signIn(upstream, ALICE_THERE)

      assert.deepEqual([status, body.code], [409, 'ACCOUNT_EXISTS'])
      const link = { linkToken: body.linkToken }
      const stranger = { token: await adminToken(api) }
      assert.equal((await api.post('/api/users/me/identities', link, stranger)).status, 400)
      const linked = await api.post('/api/users/me/identities', link, { token })
      assert.equal(linked.status, 200)
      assert.deepEqual(
        linked.body.map(({ provider, email }: Record<string, string>) => [provider, email]),
        [['acme', ALICE.email]],
      )
      assert.equal((await api.post('/api/users/me/identities', link, { token })).status, 400)
      assert.equal((await openBrowser(api).signIn(upstream, ALICE_THERE)).status, 200)
      await mailTo(api, ALICE.email, 'identity-linked')
    })

    test('is not linked with a token that is ten minutes old, or after the address has moved', async (t) => {
      const { api, upstream, token, clock } = await startWithAliceAndAcme(t, { engine })
      const { body: old } = await openBrowser(api).signIn(upstream, ALICE_THERE)
      clock.advance(600)
      const late = { linkToken: old.linkToken }
      assert.equal((await api.post('/api/users/me/identities', late, { token })).status, 400)
      const { body: fresh } = await openBrowser(api).signIn(upstream, ALICE_THERE)
      const newEmail = 'alice@new.example'
      await api.post('/api/users/me/email', { newEmail }, { token })
      const change = { token: tokenOf(await mailTo(api, newEmail, 'email-change')) }
      assert.equal((await api.post('/api/users/me/email/confirm', change)).status, 204)

      const link = { linkToken: fresh.linkToken }
      assert.equal((await api.post('/api/users/me/identities', link, { token })).status, 400)
    })

    test('is linked where the settings say so and both addresses are verified', async (t) => {
      const provider = { LINK_BY_EMAIL: 'true' }
      const { api, upstream, userId } = await startWithAliceAndAcme(t, { engine, provider })

      const { status, body } = await openBrowser(api).signIn(upstream, ALICE_THERE)

      assert.equal(status, 200)
      assert.equal(decodeJwt(body.accessToken).sub, String(userId))
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
    })
  })

  describe(
    `an address that the provider has not verified, on ${engine.name}`,
    engine.options,
    () => {
      const nameless = { sub: 'nameless-1', email: 'new@example.com' }

      test('is confirmed with a mailed code, which creates the account', async (t) => {
        const { api, upstream } = await startFederated(t, { engine })

        const { status, body } = await openBrowser(api).signIn(upstream, nameless)

        assert.deepEqual([status, body.code], [403, 'EMAIL_NOT_VERIFIED_BY_PROVIDER'])
        const { signUpToken } = body
        const signUp = { signUpToken, email: 'own@example.com' }
        const asked = await api.post('/api/auth/providers/sign-up', signUp)
        assert.equal(asked.status, 202)
        const { code } = await mailTo(api, signUp.email, 'sign-up-code')
        const confirm = (typed: string) =>
          api.post('/api/auth/providers/sign-up/confirm', { signUpToken, code: typed })
        const wrong = await confirm(code === '00000000' ? '00000001' : '00000000')
        assert.deepEqual([wrong.status, wrong.body.code], [401, 'INVALID_CODE'])
        const done = await confirm(code)
        assert.equal(done.status, 200)
        const { body: me } = await api.get('/api/users/me', { token: done.body.accessToken })
        assert.equal(me.email, signUp.email)
        assert.equal((await confirm(code)).status, 400)
        assert.equal((await openBrowser(api).signIn(upstream, nameless)).status, 200)
      })

      test('that was registered while the code was on its way is linked after a sign-in', async (t) => {
        const { api, upstream } = await startFederated(t, { engine })
        const { body } = await openBrowser(api).signIn(upstream, nameless)
        const { signUpToken } = body
        await api.post('/api/auth/providers/sign-up', { signUpToken, email: ALICE.email })
        const { code } = await mailTo(api, ALICE.email, 'sign-up-code')
        assert.equal((await api.post('/api/auth/register', ALICE)).status, 201)

        const confirmation = { signUpToken, code }
        const taken = await api.post('/api/auth/providers/sign-up/confirm', confirmation)

        assert.deepEqual([taken.status, taken.body.code], [409, 'ACCOUNT_EXISTS'])
        const { body: pair } = await api.post('/api/auth/login', ALICE)
        const link = { linkToken: taken.body.linkToken }
        const own = { token: pair.accessToken as string }
        assert.equal((await api.post('/api/users/me/identities', link, own)).status, 200)
      })

      test('takes five tries for a code, and ten minutes', async (t) => {
        const { api, upstream, clock } = await startFederated(t, { engine })
        const { body } = await openBrowser(api).signIn(upstream, nameless)
        const { signUpToken } = body
        const signUp = { signUpToken, email: 'own@example.com' }
        await api.post('/api/auth/providers/sign-up', signUp)
        const { code } = await mailTo(api, signUp.email, 'sign-up-code')
        const confirm = (typed: string) =>
          api.post('/api/auth/providers/sign-up/confirm', { signUpToken, code: typed })

        const wrong = code === '00000000' ? '00000001' : '00000000'
        for (let tries = 0; tries < 5; tries += 1) await confirm(wrong)
        assert.equal((await confirm(code)).body.code, 'INVALID_CODE')
        clock.advance(600)
        assert.equal((await confirm(code)).body.code, 'TICKET_INVALID')
        assert.equal((await api.post('/api/auth/providers/sign-up', signUp)).status, 400)
      })
    },
  )

  describe(`the identities of a user on ${engine.name}`, engine.options, () => {
    test('are linked by a round to the provider, and finish with the same token', async (t) => {
      const { api, upstream, token } = await startWithAliceAndAcme(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ADA, { token })
      const { body: other } = await api.post('/api/auth/login', ALICE)

      const without = await browser.finish(ticket)
      const elsewhere = await browser.finish(ticket, { token: other.accessToken })
      const linked = await browser.finish(ticket, { token })

      assert.equal(without.body.code, 'TICKET_INVALID')
      assert.equal(elsewhere.body.code, 'TICKET_INVALID')
      assert.equal(linked.status, 200)
      const { body: list } = await api.get('/api/users/me/identities', { token })
      assert.deepEqual(linked.body, list)
      const [one] = list
      assert.deepEqual(Object.keys(one), ['id', 'provider', 'email', 'createdAt', 'lastUsedAt'])
      assert.deepEqual([one.provider, one.email], ['acme', ADA.email])
    })

    test('belong to one account: another gets 409', async (t) => {
      const { api, upstream, token } = await startWithAliceAndAcme(t, { engine })
      await openBrowser(api).signIn(upstream, ADA)
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ADA, { token })

      const { status, body } = await browser.finish(ticket, { token })

      assert.deepEqual([status, body.code], [409, 'IDENTITY_IN_USE'])
    })

    test('can be unlinked, with a notice, but not the last way in', async (t) => {
      const { api, upstream, clock } = await startFederated(t, { engine })
      const { body: pair } = await openBrowser(api).signIn(upstream, ADA)
      const own = { token: pair.accessToken as string }
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, { ...ADA, sub: 'ada-2' }, own)
      const { body: both } = await browser.finish(ticket, own)
      const remove = (id: number) => api.delete(`/api/users/me/identities/${id}`, own)

      assert.equal((await remove(both[0].id)).status, 204)
      assert.equal((await remove(both[0].id)).body.code, 'IDENTITY_NOT_FOUND')
      const last = await remove(both[1].id)
      assert.deepEqual([last.status, last.body.code], [409, 'LAST_SIGN_IN_METHOD'])
      await mailTo(api, String(ADA.email), 'identity-unlinked')
      clock.advance(61)
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(own.token)).status, 200)
      assert.equal((await remove(both[1].id)).status, 204)
    })

    test('need a recent reauthentication where passkeys do', async (t) => {
      const env = { IDENTITY_REAUTHENTICATE: 'true' }
      const { api, token, clock } = await startWithAliceAndAcme(t, { engine, env })
      clock.advance(601)

      const replies = [
        await openBrowser(api).start({ token }),
        await api.post('/api/users/me/identities', { linkToken: 'x' }, { token }),
        await api.delete('/api/users/me/identities/1', { token }),
      ]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [403, 'REAUTHENTICATION_REQUIRED'])
    })

    test('are in the audit, the events, the export and the erasure', async (t) => {
      const env = { IDENTITY_DELETION_GRACE_DAYS: '0' }
      const { api, upstream } = await startFederated(t, { engine, env })
      const { body: pair } = await openBrowser(api).signIn(upstream, ADA)
      const own = { token: pair.accessToken as string }
      const admin = { token: await adminToken(api) }

      const { body: audit } = await api.get('/api/audit?event=IDENTITY_LINKED', admin)
      const { body: events } = await api.get('/api/events', admin)
      const { body: exported } = await api.post('/api/users/me/export/file', undefined, own)

      assert.equal(audit.content.length, 1)
      const types = (events.items ?? events.content).map(({ type }: { type: string }) => type)
      assert.ok(types.includes('identity.linked'), String(types))
      assert.deepEqual(
        exported.identities.map(({ subject, email }: Record<string, string>) => [subject, email]),
        [[ADA.sub, ADA.email]],
      )
      await api.delete('/api/users/me', own)
      // Once the account is erased, the address stays reserved for a while; the identity is unknown again.
      const again = await until(
        () => openBrowser(api).signIn(upstream, ADA),
        ({ body }) => body.code === 'EMAIL_ALREADY_EXISTS',
      )
      assert.equal(again.status, 409)
    })

    test('are removed by what removes passkeys', async (t) => {
      const { api, upstream, userId, token } = await startWithAliceAndAcme(t, { engine })
      const browser = openBrowser(api)
      const { ticket } = await browser.visit(upstream, ADA, { token })
      await browser.finish(ticket, { token })
      const admin = { token: await adminToken(api) }

      const reset = { reason: 'stolen' }
      assert.equal(
        (await api.post(`/api/users/${userId}/password-reset`, reset, admin)).status,
        202,
      )

      const { body: audit } = await api.get('/api/audit?event=IDENTITY_UNLINKED', admin)
      assert.equal(audit.content.length, 1)
      const { body: pair } = await openBrowser(api).signIn(upstream, ADA)
      assert.notEqual(decodeJwt(pair.accessToken).sub, String(userId))
    })
  })

  describe(`the providers on ${engine.name}`, engine.options, () => {
    test('are shown to administrators with the address to register, and can be tested', async (t) => {
      const { api, upstream } = await startFederated(t, { engine })
      const admin = { token: await adminToken(api) }

      const { body } = await api.get('/api/providers', admin)
      const works = await api.post('/api/providers/acme/test', undefined, admin)
      upstream.faults = { answers: { discovery: { status: 500 } } }
      const fails = await api.post('/api/providers/acme/test', undefined, admin)

      assert.deepEqual(body, [
        {
          id: 'acme',
          name: 'Acme',
          type: 'oidc',
          issuer: upstream.issuer,
          callbackUrl: 'http://localhost:8081/federation/acme/callback',
          linkByEmail: false,
          signUp: true,
        },
      ])
      assert.deepEqual(works.body, { works: true, fault: null })
      assert.equal(fails.body.works, false)
      assert.match(fails.body.fault, /status/)
      assert.equal((await api.get('/api/providers')).status, 401)
    })
  })
}
