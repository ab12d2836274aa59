import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  obtainCode,
  obtainTokens,
  openBrowser,
  refreshWith,
  registerClient,
  requestOf,
  signIn,
  tokenRequest,
} from './browser.ts'
import { ALICE, adminToken, bothEngines, startWithAlice } from './start-identity.ts'

const AT_ONCE = 6

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
  })
