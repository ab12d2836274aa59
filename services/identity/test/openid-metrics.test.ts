import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { exposition } from '@plinth/kit/metrics'
import {
  formRequest,
  obtainTokens,
  openBrowser,
  refreshWith,
  registerClient,
  requestOf,
  signIn,
} from './browser.ts'
import { engines, startWithAlice } from './start-identity.ts'

type Server = Awaited<ReturnType<typeof startWithAlice>>['server']

/** The values of a metric, by the text of its labels. */
async function valuesOf({ metrics }: Server, name: string): Promise<Record<string, number>> {
  const lines = exposition(await metrics.read()).matchAll(
    new RegExp(`^${name}\\{(.*)\\} (\\S+)$`, 'gm'),
  )
  return Object.fromEntries(
    [...lines].map(([, labels = '', value]) => [
      [...labels.matchAll(/(?:grant_type|result)="(\w+)"/g)].map(([, word]) => word).join(' '),
      Number(value),
    ]),
  )
}

for (const engine of engines)
  describe(`metrics of the provider on ${engine.name}`, engine.options, () => {
    test('count authorizations by result', async (t) => {
      const { api, server } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const browser = openBrowser(api)
      const ask = (more = {}) => browser.authorize(requestOf(client, more).parameters)

      const { id } = await ask()
      await signIn(api, browser, id)
      await browser.decide(id, { action: 'deny' })
      await obtainTokens(api, client, { browser })
      await ask()
      await ask({ response_type: 'token' })
      await ask({ redirect_uri: 'https://evil.example/' })

      assert.deepEqual(await valuesOf(server, 'plinth_authorizations_total'), {
        asked: 2,
        granted: 2,
        denied: 1,
        refused: 1,
        rejected: 1,
      })
    })

    test('count grants by type and result, and know no other words', async (t) => {
      const { api, server } = await startWithAlice(t, { engine })
      const client = await registerClient(api)
      const tokens = await obtainTokens(api, client)
      await refreshWith(api, client, tokens.refresh_token)
      await refreshWith(api, client, 'spent')
      const { clientId } = client
      const form = { grant_type: 'x" 1', client_id: clientId, client_secret: 'x' }
      await formRequest(api, '/oauth2/token', form)

      const values = await valuesOf(server, 'plinth_grants_total')

      assert.equal(values['authorization_code issued'], 1)
      assert.equal(values['refresh_token issued'], 1)
      assert.equal(values['refresh_token invalid_grant'], 1)
      assert.equal(values['device_code issued'], 0)
      assert.equal(values['client_credentials issued'], 0)
      assert.equal(values['other invalid_client'], 1)
    })
  })
