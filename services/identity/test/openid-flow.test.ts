import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  CALLBACK,
  claimsIn,
  obtainCode,
  obtainTokens,
  openBrowser,
  refreshWith,
  registerClient,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ALICE, engines, startWithAlice } from './start-identity.ts'

for (const engine of engines)
  describe(`signing in to a client on ${engine.name}`, engine.options, () => {
    test('goes from the client to the page, and back with a code for tokens', async (t) => {
      const { api, config, userId } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const { parameters, verifier } = requestOf(client)

      const asked = await browser.authorize(parameters)
      const shown = await browser.show(asked.id)
      const signedIn = await signIn(api, browser, asked.id)
      const allowed = await browser.decide(asked.id, { action: 'allow' })
      const answer = new URL(allowed.body.redirectTo).searchParams
      const exchange = {
        code: answer.get('code') ?? '',
        redirect_uri: CALLBACK,
        code_verifier: verifier,
      }
      const reply = await tokenRequest(
        api,
        { grant_type: 'authorization_code', ...exchange },
        client,
      )

      assert.equal(asked.reply.status, 303)
      assert.equal(asked.location, `${config.publicUrl}/account/sign-in?authorization=${asked.id}`)
      assert.deepEqual([shown.body.step, shown.body.account], ['sign-in', null])
      assert.equal(shown.body.client.host, 'wiki.example')
      assert.deepEqual([signedIn.status, signedIn.body.step], [200, 'consent'])
      assert.deepEqual(signedIn.body.account, { username: 'alice', email: ALICE.email })
      assert.equal(allowed.body.step, 'done')
      assert.deepEqual(
        [answer.get('state'), answer.get('iss')],
        ['some state', config.accounts.issuer],
      )
      assert.equal(reply.status, 200, JSON.stringify(reply.body))
      assert.equal(reply.headers.get('cache-control'), 'no-store')
      const { sub, aud, nonce, amr, acr, preferred_username, email } = claimsIn(reply.body.id_token)
      assert.deepEqual([sub, aud, nonce], [String(userId), client.clientId, 'some nonce'])
      assert.deepEqual([amr, acr], [['pwd'], 'urn:plinth:1fa'])
      assert.deepEqual([preferred_username, email], ['alice', ALICE.email])
    })

    test('a second visit needs no page', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const { browser } = await obtainTokens(api, client)

      const { code } = await obtainCode(api, client, { browser })
      const again = await browser.authorize(requestOf(client).parameters)

      assert.ok(code)
      assert.equal(again.location.startsWith(`${CALLBACK}?code=`), true, again.location)
    })

    test('a refresh token is exchanged for the next', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const { refresh_token } = await obtainTokens(api, client)

      const first = await refreshWith(api, client, refresh_token)
      const second = await refreshWith(api, client, first.body.refresh_token)

      assert.equal(first.status, 200, JSON.stringify(first.body))
      assert.equal(second.status, 200, JSON.stringify(second.body))
      assert.notEqual(second.body.refresh_token, refresh_token)
      const me = await api.get('/oauth2/userinfo', { token: second.body.access_token })
      assert.equal(me.body.preferred_username, 'alice')
    })
  })
