import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { enrol, firstStep, secondStep } from './authenticator-app.ts'
import {
  type Browser,
  claimsIn,
  obtainTokens,
  openBrowser,
  registerClient,
  requestOf,
  signIn,
} from './browser.ts'
import { ALICE, engines, startWithAlice } from './start-identity.ts'

const ONE = 'urn:plinth:1fa'
const TWO = 'urn:plinth:2fa'

for (const engine of engines)
  describe(`acr_values on ${engine.name}`, engine.options, () => {
    async function start(t: Parameters<typeof startWithAlice>[0]) {
      const started = await startWithAlice(t, { engine })
      const client = await registerClient(started.api, { firstParty: true })
      const ask = (browser: Browser, acr_values: string, more = {}) =>
        browser.authorize(requestOf(client, { acr_values, ...more }).parameters)
      return { ...started, client, ask }
    }

    test('of two factors let a user without a second factor in with one', async (t) => {
      const { api, client } = await start(t)

      const tokens = await obtainTokens(api, client, { parameters: { acr_values: TWO } })

      assert.equal(claimsIn(tokens.id_token).acr, ONE)
    })

    test('of two factors make a user with one sign in again, and silence is login_required', async (t) => {
      const { api, client, token, clock, ask } = await start(t)
      const { browser } = await obtainTokens(api, client)
      const { app } = await enrol(api, token, clock)

      const silent = await ask(browser, TWO, { prompt: 'none' })
      const asked = await ask(browser, TWO)
      const step = (await browser.show(asked.id)).body.step
      const refused = await browser.decide(asked.id, { action: 'continue' })
      const stepToken = await firstStep(api, ALICE)
      const { body: pair } = await secondStep(api, stepToken, { code: app.next() })
      const handOver = { action: 'sign-in', refreshToken: pair.refreshToken }
      const done = await browser.decide(asked.id, handOver, pair.accessToken)
      const again = await ask(browser, TWO, { prompt: 'none' })

      assert.equal(silent.query.get('error'), 'login_required')
      assert.equal(step, 'sign-in')
      assert.equal(refused.status, 409)
      assert.equal(done.body.step, 'done')
      assert.notEqual(again.code, '')
    })

    test('of one factor, of others, and several in the order of the client', async (t) => {
      const { api, client, token, clock, ask } = await start(t)
      const { browser } = await obtainTokens(api, client)
      await enrol(api, token, clock)
      const isDone = async (values: string) => (await ask(browser, values)).code !== ''

      assert.equal(await isDone(ONE), true)
      assert.equal(await isDone('urn:mace:incommon:iap:silver'), true)
      assert.equal(await isDone(`${ONE} ${TWO}`), true)
      assert.equal(await isDone(`${TWO} ${ONE}`), false)
      assert.equal(await isDone(`urn:other ${TWO}`), false)
    })

    test('twice in one request are refused', async (t) => {
      const { api, client } = await start(t)
      const { parameters } = requestOf(client)
      const query = new URLSearchParams(parameters)
      query.append('acr_values', ONE)
      query.append('acr_values', TWO)

      const { headers } = await api.get(`/oauth2/authorize?${query}`)

      const answer = new URL(headers.get('location') ?? '')
      assert.equal(answer.searchParams.get('error'), 'invalid_request')
    })

    test('of two factors say so in the tokens of a user who has used both', async (t) => {
      const { api, client, token, clock, ask } = await start(t)
      const { app } = await enrol(api, token, clock)
      const browser = openBrowser(api)
      const { id } = await ask(browser, TWO)
      const first = await signIn(api, browser, id)
      const { body: pair } = await secondStep(api, await firstStep(api, ALICE), {
        code: app.next(),
      })
      const handOver = { action: 'sign-in', refreshToken: pair.refreshToken }
      await browser.decide(id, handOver, pair.accessToken)
      const { id_token } = await obtainTokens(api, client, {
        browser,
        parameters: { acr_values: TWO },
      })

      assert.equal(first.status, 401)
      const { acr, amr } = claimsIn(id_token)
      assert.equal(acr, TWO)
      assert.deepEqual(amr, ['pwd', 'otp', 'mfa'])
    })
  })
