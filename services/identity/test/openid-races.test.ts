import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  formRequest,
  obtainCode,
  obtainTokens,
  openBrowser,
  refreshWith,
  registerClient,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ADMIN, ALICE, adminToken, bothEngines, startWithAlice } from './start-identity.ts'

const AT_ONCE = 6
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'

function several<T>(work: () => Promise<T>): Promise<T[]> {
  return Promise.all(Array.from({ length: AT_ONCE }, work))
}

for (const engine of bothEngines)
  describe(`concurrent requests of clients on ${engine.name}`, engine.options, () => {
    test('one of many uses of a code, refresh token, login and decision succeeds', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const { exchange, browser } = await obtainCode(api, client)
      const codes = await several(() => tokenRequest(api, exchange, client))
      const { refresh_token } = await obtainTokens(api, client, { browser })
      const refreshes = await several(() => refreshWith(api, client, refresh_token))
      const { id } = await browser.authorize(requestOf(client, { prompt: 'consent' }).parameters)
      const decisions = await several(() => browser.decide(id, { action: 'allow' }))
      const fresh = openBrowser(api)
      const { id: waiting } = await fresh.authorize(requestOf(client).parameters)
      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const login = { action: 'sign-in', refreshToken: pair.refreshToken }
      const handOvers = await several(() => fresh.decide(waiting, login, pair.accessToken))

      const succeeded = (replies: { status: number }[]) =>
        replies.filter(({ status }) => status === 200).length
      assert.deepEqual(
        [codes, refreshes, decisions, handOvers].map(succeeded),
        [1, 1, 1, 1],
        JSON.stringify(
          [codes, refreshes, decisions, handOvers].map((all) => all.map((r) => r.status)),
        ),
      )
      const winner = refreshes.find(({ status }) => status === 200)
      assert.equal((await refreshWith(api, client, winner?.body.refresh_token)).status, 200)
    })

    test('one of many uses of a user code, device code and pushed request succeeds', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const device = await registerClient(api, { grantTypes: [DEVICE], redirectUris: [] })
      const { body } = await formRequest(api, '/oauth2/device_authorization', {
        client_id: device.clientId,
        client_secret: device.clientSecret ?? '',
        scope: 'openid',
      })
      const browsers = await several(async () => {
        const browser = openBrowser(api)
        const opened = await api.post('/api/authorizations', { userCode: body.user_code })
        browser.setCookie(opened.headers.get('set-cookie')?.split(';')[0])
        await signIn(api, browser, opened.body.id)
        return { browser, id: opened.body.id }
      })
      const client = await registerClient(api)
      const { parameters } = requestOf(client)
      const credentials = { client_secret: client.clientSecret ?? '' }
      const pushed = await formRequest(api, '/oauth2/par', { ...parameters, ...credentials })
      const { request_uri } = pushed.body

      const decisions = await Promise.all(
        browsers.map(({ browser, id }) => browser.decide(id, { action: 'allow' })),
      )
      const poll = { grant_type: DEVICE, device_code: body.device_code }
      const polls = await several(() => tokenRequest(api, poll, device))
      const requests = await several(async () => {
        const asked = { client_id: client.clientId, request_uri }
        return (await openBrowser(api).authorize(asked)).reply
      })

      const statuses = (replies: { status: number }[]) =>
        replies.map(({ status }) => status).sort((a, b) => a - b)
      const others = (status: number) => Array.from({ length: AT_ONCE - 1 }, () => status)
      assert.deepEqual(statuses(decisions), [200, ...others(404)])
      assert.deepEqual(statuses(polls), [200, ...others(400)])
      assert.deepEqual(
        statuses(requests),
        [303, ...others(400)].sort((a, b) => a - b),
      )
    })

    test('a client that is disabled while codes are exchanged keeps nothing', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const { id } = await browser.authorize(requestOf(client).parameters)
      await signIn(api, browser, id)
      await browser.decide(id, { action: 'allow' })
      const exchanges = await Promise.all(
        Array.from({ length: AT_ONCE }, () => obtainCode(api, client, { browser })),
      )
      const token = await adminToken(api)
      const path = `/api/clients/${client.clientId}`

      const [disabled, ...replies] = await Promise.all([
        api.patch(path, { enabled: false }, { token }),
        ...exchanges.map(({ exchange }) => tokenRequest(api, exchange, client)),
      ])

      assert.equal(disabled.status, 200)
      for (const { status, body } of replies.filter((reply) => reply.status === 200)) {
        assert.equal(status, 200)
        const info = await api.get('/oauth2/userinfo', { token: body.access_token })
        assert.equal(info.status, 401)
      }
    })

    test('codes that are exchanged while the browser switches accounts leave no valid token', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api, { firstParty: true })
      const scope = 'openid profile'
      const { browser } = await obtainTokens(api, client, { parameters: { scope } })
      const exchanges = await Promise.all(
        Array.from({ length: AT_ONCE }, () =>
          obtainCode(api, client, { browser, parameters: { scope } }),
        ),
      )
      const { id } = await browser.authorize(requestOf(client, { prompt: 'login' }).parameters)

      const [switched, ...replies] = await Promise.all([
        signIn(api, browser, id, { as: ADMIN }),
        ...exchanges.map(({ exchange }) => tokenRequest(api, exchange, client)),
      ])

      assert.equal(switched.status, 200)
      for (const { body } of replies.filter(({ status }) => status === 200)) {
        const info = await api.get('/oauth2/userinfo', { token: body.access_token })
        assert.equal(info.status, 401)
      }
    })

    test('two tabs that allow different scopes at once lose none', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const first = await browser.authorize(requestOf(client, { scope: 'openid' }).parameters)
      await signIn(api, browser, first.id)
      const wanted = ['openid profile', 'openid email']
      const tabs = await Promise.all(
        wanted.map((scope) => browser.authorize(requestOf(client, { scope }).parameters)),
      )

      await Promise.all(tabs.map(({ id }) => browser.decide(id, { action: 'allow' })))

      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const { body: grants } = await api.get('/api/users/me/grants', { token: pair.accessToken })
      assert.deepEqual(grants[0].scopes.toSorted(), ['email', 'openid', 'profile'])
    })

    test('a client that is disabled while it is renamed and gets a new secret stays disabled', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const token = await adminToken(api)
      const path = `/api/clients/${client.clientId}`

      await Promise.all([
        ...Array.from({ length: AT_ONCE }, (_, at) =>
          api.patch(path, { name: `Name ${at}` }, { token }),
        ),
        api.patch(path, { enabled: false }, { token }),
        ...Array.from({ length: AT_ONCE }, () => api.post(`${path}/rotate-secret`, {}, { token })),
      ])

      assert.equal((await api.get(path, { token })).body.enabled, false)
    })

    test('texts with NUL are refused, and a user without grants has an empty list', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const token = await adminToken(api)
      const { parameters } = requestOf(client, { nonce: 'n\0' })

      const { query } = await openBrowser(api).authorize(parameters)
      const { browser } = await obtainCode(api, client)
      const shown = await browser.show('%00')
      const named = await api.post('/api/clients', { name: 'a\0' }, { token })
      const revoked = await api.request('DELETE', '/api/users/me/grants/%00', { token })
      const grants = await api.get('/api/users/me/grants', { token })

      assert.equal(query.get('error'), 'invalid_request')
      assert.deepEqual([named.status, revoked.status, shown.status], [400, 404, 404])
      assert.deepEqual([grants.status, grants.body], [200, []])
    })
  })
