import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import {
  type Browser,
  obtainCode,
  obtainTokens,
  refreshWith,
  registerClient,
  tokenRequest,
} from './browser.ts'
import { engines, startWithAlice } from './start-identity.ts'

const CONSOLE = { clientId: 'plinth-console', clientSecret: null }
const MAX_SESSIONS = 20

const scope = 'openid profile email roles'

/** What a console does when its page is opened or reloaded. */
function load(api: Api, publicUrl: string, browser?: Browser) {
  const redirect_uri = `${publicUrl}/api-test/index.html`
  const parameters = { redirect_uri, scope, ...(browser && { prompt: 'none' }) }
  return obtainTokens(api, CONSOLE, { parameters, ...(browser && { browser }) })
}

type Session = { client: { clientId: string } | null }

async function countSessions(api: Api, token: string, clientId = CONSOLE.clientId) {
  const { body } = await api.get('/api/users/me/sessions', { token })
  return body.filter(({ client }: Session) => client?.clientId === clientId).length
}

for (const engine of engines)
  describe(`consoles in several tabs on ${engine.name}`, engine.options, () => {
    test('one that is reloaded often leaves few sessions, and the other tab keeps working', async (t) => {
      const { api, clock, config } = await startWithAlice(t, { engine })
      const { publicUrl } = config
      const other = await load(api, publicUrl)
      const { browser } = other
      let token = other.refresh_token
      let latest = await load(api, publicUrl, browser)
      const first = latest

      for (let reloads = 0; reloads < 2 * MAX_SESSIONS; reloads++) {
        clock.advance(60)
        latest = await load(api, publicUrl, browser)
        if (reloads % 15 !== 14) continue
        // The other tab is used: its access token lasts for fifteen minutes.
        const { status, body } = await refreshWith(api, CONSOLE, token)
        assert.equal(status, 200, `after ${reloads} reloads`)
        token = body.refresh_token
      }

      const own = await refreshWith(api, CONSOLE, token)
      const me = await api.get('/api/users/me', { token: own.body.access_token })
      assert.deepEqual([own.status, me.status], [200, 200])
      assert.equal(await countSessions(api, latest.access_token), MAX_SESSIONS)
      const gone = await refreshWith(api, CONSOLE, first.refresh_token)
      assert.equal(gone.body.error, 'invalid_grant')
      assert.equal((await api.get('/api/users/me', { token: first.access_token })).status, 401)
    })

    test('many that open at once all work, up to the limit', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const redirect_uri = `${config.publicUrl}/api-test/index.html`
      const { browser } = await obtainCode(api, CONSOLE, { parameters: { redirect_uri, scope } })
      const codes: { exchange: Record<string, string> }[] = []
      while (codes.length < MAX_SESSIONS + 5)
        codes.push(await obtainCode(api, CONSOLE, { browser, parameters: { redirect_uri, scope } }))

      const replies = await Promise.all(
        codes.map(({ exchange }) => tokenRequest(api, exchange, CONSOLE)),
      )

      const statuses = await Promise.all(
        replies.map(async ({ body }) => {
          const { status } = await api.get('/api/users/me', { token: body.access_token })
          return status
        }),
      )
      assert.deepEqual(new Set(replies.map(({ status }) => status)), new Set([200]))
      assert.equal(statuses.filter((status) => status === 200).length, MAX_SESSIONS)
    })

    test('other clients, other browsers and sessions with offline_access do not count', {
      tags: ['all'],
    }, async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const client = await registerClient(api, { firstParty: true })
      const { browser, ...offline } = await obtainTokens(api, client)
      const parameters = { scope: 'openid' }
      const bound = await obtainTokens(api, client, { browser, parameters })
      const elsewhere = await load(api, config.publicUrl)

      for (let reloads = 0; reloads <= MAX_SESSIONS; reloads++)
        await load(api, config.publicUrl, browser)
      for (let visits = 0; visits < MAX_SESSIONS; visits++)
        await obtainTokens(api, client, { browser, parameters })

      const statuses = [
        (await refreshWith(api, client, offline.refresh_token)).status,
        (await refreshWith(api, client, bound.refresh_token)).status,
        (await refreshWith(api, CONSOLE, elsewhere.refresh_token)).status,
      ]
      assert.deepEqual(statuses, [200, 400, 200])
    })
  })
