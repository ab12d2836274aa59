import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { claimsIn, formRequest, obtainTokens, registerClient } from './browser.ts'
import { startLogoutReceiver } from './logout-receiver.ts'
import { adminToken, engines, startWithAlice } from './start-identity.ts'

const EVENT = 'http://schemas.openid.net/event/backchannel-logout'

/** A client with a service that is told about ended sessions. */
async function start(t: TestContext, engine: TestEngine) {
  const { url: backchannelLogoutUri, ...receiver } = await startLogoutReceiver(t)
  const started = await startWithAlice(t, { engine, delivers: true })
  const client = await registerClient(started.api, { backchannelLogoutUri })
  return { ...started, client, ...receiver }
}

for (const engine of engines)
  describe(`back-channel sign-out on ${engine.name}`, engine.options, () => {
    // Each waits several times for a job that runs every three seconds.
    const tags = ['all']

    test('tells a client of the end of each session, however it ends', { tags }, async (t) => {
      const { api, baseUrl, client, config, clock, userId, told } = await start(t, engine)
      const first = await obtainTokens(api, client)
      const { browser } = first
      const second = await obtainTokens(api, client, { browser })

      await formRequest(api, '/oauth2/revoke', { token: first.refresh_token })
      const [token = ''] = await told(1)
      const why = { reason: 'test' }
      const admin = await adminToken(api)
      await api.deleteWith(`/api/users/${userId}/sessions`, why, { token: admin })
      const [, next = ''] = await told(2)
      const third = await obtainTokens(api, client)
      await api.delete(`/api/clients/${client.clientId}`, { token: await adminToken(api) })
      const [, , last = ''] = await told(3)

      const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`))
      const { payload, protectedHeader } = await jwtVerify(token, keys, {
        issuer: config.accounts.issuer,
        audience: client.clientId,
        currentDate: clock(),
      })
      assert.deepEqual([protectedHeader.alg, protectedHeader.typ], ['RS256', 'logout+jwt'])
      assert.deepEqual(payload.events, { [EVENT]: {} })
      assert.equal('nonce' in payload, false)
      const sids = [token, next, last].map((one) => claimsIn(one).sid)
      assert.deepEqual(
        sids,
        [first, second, third].map(({ id_token }) => claimsIn(id_token).sid),
      )
      assert.equal(claimsIn(token).sub, String(userId))
    })

    test('tells a client when the browser is signed out by time', { tags }, async (t) => {
      const { api, client, clock, told } = await start(t, engine)
      const { id_token } = await obtainTokens(api, client, { parameters: { scope: 'openid' } })

      clock.advance(12 * 3600 + 1)

      const [token = ''] = await told(1)
      assert.equal(claimsIn(token).sid, claimsIn(id_token).sid)
    })

    test('tries again after 5 and 60 seconds with the same id, and then no more', {
      tags,
    }, async (t) => {
      const { api, client, clock, tokens, answers, told } = await start(t, engine)
      const { refresh_token } = await obtainTokens(api, client)
      answers.status = 500

      await formRequest(api, '/oauth2/revoke', { token: refresh_token })
      await told(1)
      clock.advance(5)
      await told(2)
      clock.advance(60)
      await told(3)
      clock.advance(600)

      assert.equal(new Set(tokens.map((token) => claimsIn(token).jti)).size, 1)
      assert.equal(tokens.length, 3)
    })
  })
