import assert from 'node:assert/strict'
import { before, describe, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { openRsaSigningKeys, openSigningKeys } from '@plinth/kit/tokens'
import { decodeProtectedHeader } from 'jose'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import {
  type Fields,
  obtainTokens,
  openBrowser,
  type Registered,
  refreshWith,
  registerClient,
  requestOf,
} from './browser.ts'
import { ALICE, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const AFTER = 'https://wiki.example/bye'

type Started = Awaited<ReturnType<typeof startWithAlice>>

/** What the jobs of the service do when the keys are due, within the time that a browser stays signed in. */
async function replaceKeys({ clock, config }: Pick<Started, 'clock' | 'config'>) {
  const { masterKey } = config.accounts
  const { db, close } = await openDatabase<IdentityTables>(config.databaseUrl, identityMigrations)
  const options = { db, clock, masterKey }
  const keys = await openSigningKeys({ ...options, tokenLifetimeSeconds: 900 })
  const rsaKeys = openRsaSigningKeys({ ...options, tokenLifetimeSeconds: 90 * 86_400 })
  for (const set of [keys, rsaKeys]) await set.rotateWhenOlderThan(0)
  clock.advance(3 * 3600)
  for (const set of [keys, rsaKeys]) await set.rotateWhenOlderThan(86_400)
  await close()
}

for (const engine of engines)
  describe(`GET /oauth2/logout on ${engine.name}`, engine.options, () => {
    const shared = sharedIdentity({ engine })
    let client: Registered

    before(async () => {
      const postLogoutRedirectUris = [AFTER]
      client = await registerClient(shared().api, { firstParty: true, postLogoutRedirectUris })
    })

    const parameters = { scope: 'openid' }
    const signedIn = () => obtainTokens(shared().api, client, { parameters })

    async function signOut(browser: ReturnType<typeof openBrowser>, query: Fields) {
      const reply = await browser.open(`/oauth2/logout?${new URLSearchParams(query)}`)
      return { status: reply.status, location: reply.headers.get('location') ?? '', reply }
    }

    async function isSignedIn(browser: ReturnType<typeof openBrowser>) {
      const { code } = await browser.authorize(requestOf(client, { prompt: 'none' }).parameters)
      return code !== ''
    }

    test('with the hint of this browser ends its session and its clients, and goes back', async () => {
      const { api, clock } = shared()
      const { browser, id_token, refresh_token } = await signedIn()
      const cookie = browser.cookie
      clock.advance(1000)

      const query = { id_token_hint: id_token, post_logout_redirect_uri: AFTER, state: 'a b' }
      const { status, location, reply } = await signOut(browser, query)

      browser.setCookie(cookie)
      assert.deepEqual([status, location], [303, `${AFTER}?state=a+b`])
      assert.match(reply.headers.get('set-cookie') ?? '', /^plinth-sso=; .*Max-Age=0$/)
      assert.equal(await isSignedIn(browser), false)
      assert.equal((await refreshWith(api, client, refresh_token)).body.error, 'invalid_grant')
    })

    for (const idTokenAlg of ['ES256', 'RS256'])
      test(`with an expired ${idTokenAlg} hint whose key was replaced long ago ends the session`, async (t) => {
        const { api, clock, config } = await startWithAlice(t, { engine })
        const chosen = { firstParty: true, idTokenAlg, postLogoutRedirectUris: [AFTER] }
        const wiki = await registerClient(api, chosen)
        const scope = 'openid'
        const { browser, id_token } = await obtainTokens(api, wiki, { parameters: { scope } })
        await replaceKeys({ clock, config })
        const { keys } = (await api.get('/.well-known/jwks.json')).body
        const { kid } = decodeProtectedHeader(id_token)

        const query = { id_token_hint: id_token, post_logout_redirect_uri: AFTER }
        const { status, location } = await signOut(browser, query)

        if (idTokenAlg === 'ES256') assert.ok(keys.every((key: { kid: string }) => key.kid !== kid))
        assert.deepEqual([status, location], [303, AFTER])
        const { query: answer } = await browser.authorize(
          requestOf(wiki, { prompt: 'none' }).parameters,
        )
        assert.equal(answer.get('error'), 'login_required')
      })

    test('without a hint, or with that of another browser, asks the user first', async () => {
      const { api, config } = shared()
      const { browser } = await signedIn()
      const { id_token } = await signedIn()
      const back = { post_logout_redirect_uri: AFTER, client_id: client.clientId }

      for (const query of [back, { ...back, id_token_hint: id_token }]) {
        const { location } = await signOut(browser, query)
        assert.equal(location.startsWith(`${config.publicUrl}/account/sign-out?request=`), true)
        assert.equal(await isSignedIn(browser), true)
      }
      const { location } = await signOut(browser, back)
      const id = new URL(location).searchParams.get('request')
      const confirm = (cookie: string | undefined, headers: Fields = {}) =>
        api.post(`/api/sign-outs/${id}`, {}, { headers: { cookie: cookie ?? '', ...headers } })
      const other = await confirm((await signedIn()).browser.cookie)
      const foreign = await confirm(browser.cookie, { origin: 'https://evil.example' })
      const first = await confirm(browser.cookie)
      const second = await confirm(browser.cookie)

      assert.deepEqual([other.status, other.body.code], [404, 'SIGN_OUT_UNKNOWN'])
      assert.equal(foreign.body.code, 'ORIGIN_REJECTED')
      assert.deepEqual([first.status, first.body], [200, { redirectTo: AFTER }])
      assert.equal(second.status, 404)
      assert.equal(await isSignedIn(browser), false)
    })

    test('with the hint of another user asks the user who is signed in', async () => {
      const { api } = shared()
      const bob = { username: 'bob', email: 'bob@example.com', password: ALICE.password }
      await api.post('/api/auth/register', bob)
      const { id_token } = await obtainTokens(api, client, { parameters, as: bob })
      const { browser } = await signedIn()

      const { location } = await signOut(browser, { id_token_hint: id_token })

      assert.match(location, /\/account\/sign-out\?request=/)
      assert.equal(await isSignedIn(browser), true)
    })

    test('a browser that has no cookie, or an id that is none, confirms nothing', async () => {
      const { api } = shared()
      const { browser } = await signedIn()
      const { location } = await signOut(browser, {})
      const id = new URL(location).searchParams.get('request')
      const confirm = (path: string, headers: Fields) =>
        api.post(`/api/sign-outs/${path}`, {}, { headers })

      const replies = [
        await confirm(`${id}`, {}),
        await confirm('%00', { cookie: browser.cookie ?? '' }),
        await confirm(`${id}x`, { cookie: browser.cookie ?? '' }),
      ]

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [404, 'SIGN_OUT_UNKNOWN'])
      assert.equal(await isSignedIn(browser), true)
    })

    test('with the hint of a client that keeps offline access, that access stays', async () => {
      const { api } = shared()
      const { browser, id_token, refresh_token } = await obtainTokens(api, client)

      const query = { id_token_hint: id_token, post_logout_redirect_uri: AFTER }
      const { location } = await signOut(browser, query)

      assert.equal(location, AFTER)
      assert.equal((await refreshWith(api, client, refresh_token)).status, 200)
    })

    test('goes back at once where no user is signed in', async () => {
      const { api, config } = shared()
      const browser = openBrowser(api)

      const back = { post_logout_redirect_uri: AFTER, client_id: client.clientId }
      const { location } = await signOut(browser, back)
      const nowhere = await signOut(browser, {})

      assert.equal(location, AFTER)
      assert.equal(nowhere.location, `${config.publicUrl}/account/sign-out`)
    })

    test('answers a page to an address that is not registered, or without a client, and to a bad hint', async () => {
      const { browser, id_token } = await signedIn()
      const { clientId: client_id } = client
      const refused: Fields[] = [
        { client_id, post_logout_redirect_uri: 'https://evil.example/' },
        { post_logout_redirect_uri: AFTER },
        { client_id: 'unknown', post_logout_redirect_uri: AFTER },
        { id_token_hint: `${id_token}x`, post_logout_redirect_uri: AFTER },
        { id_token_hint: id_token, client_id: 'plinth-console' },
      ]

      for (const query of refused) {
        const { status, location, reply } = await signOut(browser, query)
        assert.deepEqual([status, location], [400, ''], JSON.stringify(query))
        assert.match(reply.headers.get('content-type') ?? '', /^text\/html/)
      }
      assert.equal(await isSignedIn(browser), true)
    })

    test('a sign-out at one console ends all of them', async () => {
      const { api, config } = shared()
      const index = `${config.publicUrl}/api-test/index.html`
      const console = { clientId: 'plinth-console', clientSecret: null }
      const own = { redirect_uri: index, scope: 'openid roles' }
      const first = await obtainTokens(api, console, { parameters: own })
      const { browser } = first
      const second = await obtainTokens(api, console, { parameters: own, browser })

      const query = { id_token_hint: first.id_token, post_logout_redirect_uri: index }
      const { location } = await signOut(browser, query)

      assert.equal(location, index)
      for (const { access_token: token, refresh_token } of [first, second]) {
        assert.equal((await api.get('/api/users/me', { token })).status, 401)
        assert.equal((await refreshWith(api, console, refresh_token)).status, 400)
      }
    })

    test('accepts a form, and goes on with a GET', async () => {
      const { api, config } = shared()
      const headers = { 'content-type': 'application/x-www-form-urlencoded' }

      const reply = await api.request('POST', '/oauth2/logout', { headers, body: 'state=x' })

      assert.equal(reply.headers.get('location'), `${config.publicUrl}/oauth2/logout?state=x`)
    })
  })
