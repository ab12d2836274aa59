import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { obtainTokens, registerClient, requestOf, signIn } from './browser.ts'
import { kindsTo, mailTo, tokenOf } from './inbox.ts'
import { ALICE, engines, startWithAlice } from './start-identity.ts'

const countOf = (kinds: string[]) => kinds.filter((kind) => kind === 'grant-given').length

for (const engine of engines)
  describe(`notices about applications on ${engine.name}`, engine.options, () => {
    test('a user gets a mail when an application of others is allowed something new', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api, { name: 'Visit evil.example' })

      const { browser } = await obtainTokens(api, client, { parameters: { scope: 'openid' } })
      const first = await mailTo(api, ALICE.email, 'grant-given')
      await obtainTokens(api, client, { browser, parameters: { scope: 'openid' } })
      const same = countOf(await kindsTo(api, ALICE.email))
      await obtainTokens(api, client, { browser, parameters: { scope: 'openid email' } })

      assert.match(first.text, /^Hello,/)
      assert.match(first.text, /You have allowed an application/)
      assert.doesNotMatch(`${first.text}${first.html}`, /evil\.example/)
      assert.equal(same, 1)
      assert.equal(countOf(await kindsTo(api, ALICE.email)), 2)
    })

    test('an application of the house causes no mail', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const own = await registerClient(api, {
        firstParty: true,
        authMethod: 'none',
        redirectUris: ['http://127.0.0.1/cb'],
      })

      const parameters = { redirect_uri: 'http://127.0.0.1/cb' }
      await obtainTokens(api, own, { parameters })

      assert.equal(countOf(await kindsTo(api, ALICE.email)), 0)
    })

    test('"this was not me" takes back what applications were allowed', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const proof = { token: tokenOf(await mailTo(api, ALICE.email, 'verify-email')) }
      await api.post('/api/auth/verify-email', proof)
      const client = await registerClient(api)
      const { browser, refresh_token } = await obtainTokens(api, client)
      clock.advance(1)
      const token = tokenOf(await mailTo(api, ALICE.email, 'grant-given'))

      const denied = await api.post('/api/auth/not-me', { token })

      assert.equal(denied.status, 204)
      const form = `grant_type=refresh_token&refresh_token=${refresh_token}&client_id=${client.clientId}&client_secret=${client.clientSecret}`
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }
      assert.equal(
        (await api.request('POST', '/oauth2/token', { body: form, headers })).status,
        400,
      )
      const reset = { token: tokenOf(await mailTo(api, ALICE.email, 'password-ended')) }
      const newPassword = 'another horse battery'
      await api.post('/api/auth/password-reset/confirm', { ...reset, newPassword })
      const { id } = await browser.authorize(requestOf(client).parameters)
      const again = await signIn(api, browser, id, { as: { ...ALICE, password: newPassword } })
      assert.equal(again.body.step, 'consent')
    })

    test('at most ten such mails are sent an hour', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const clients = await Promise.all(
        Array.from({ length: 12 }, (_, number) => registerClient(api, { name: `Wiki ${number}` })),
      )
      const [first = await registerClient(api), ...others] = clients
      const { browser } = await obtainTokens(api, first)

      for (const client of others) await obtainTokens(api, client, { browser })

      assert.equal(countOf(await kindsTo(api, ALICE.email)), 10)
    })
  })
