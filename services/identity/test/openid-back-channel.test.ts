import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { exposition } from '@plinth/kit/metrics'
import type { TestEngine } from '@plinth/kit/testing'
import { createRemoteJWKSet, jwtVerify } from 'jose'
import { until } from '../../../test/until.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
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

    // In `npm test`, because every line of a delivery is in it: one that succeeds, and one that never does.
    test('tries again after 5 and 60 seconds with the same id, counts each attempt, and then gives up', async (t) => {
      const { api, baseUrl, client, clock, config, server, tokens, answers, told } = await start(
        t,
        engine,
      )
      const accepted = await obtainTokens(api, client)
      const refused = await obtainTokens(api, client, { browser: accepted.browser })
      const [acceptedSid, refusedSid] = [accepted, refused].map(
        ({ id_token }) => claimsIn(id_token).sid as string,
      )
      answers.statusFor = (token) => (claimsIn(token).sid === refusedSid ? 500 : 204)
      const endedAt = clock()

      for (const { refresh_token } of [accepted, refused])
        await formRequest(api, '/oauth2/revoke', { token: refresh_token })
      await told(2)
      clock.advance(5)
      await told(3)
      clock.advance(60)
      await told(4)

      const sids = tokens.map((token): string => claimsIn(token).sid)
      assert.deepEqual(sids.slice(2), [refusedSid, refusedSid])
      assert.deepEqual(new Set(sids.slice(0, 2)), new Set([acceptedSid, refusedSid]))
      const jtis = tokens.filter((_, index) => sids[index] === refusedSid).map(jtiOf)
      assert.deepEqual([jtis.length, new Set(jtis).size], [3, 1])
      const keys = createRemoteJWKSet(new URL(`${baseUrl}/.well-known/jwks.json`))
      const verified = { audience: client.clientId, currentDate: endedAt }
      const { payload } = await jwtVerify(tokens[0] ?? '', keys, verified)
      const iat = Math.floor(endedAt.getTime() / 1000)
      assert.deepEqual([payload.iat, payload.exp], [iat, iat + 120])
      const left = await noticesOf(t, config.databaseUrl)
      await until(left, (count) => count === 0)
      const text = exposition(await server.metrics.read())
      const attempts = (result: string) =>
        Number(
          new RegExp(`^plinth_backchannel_logouts_total\\{result="${result}"\\} (\\d+)$`, 'm').exec(
            text,
          )?.[1],
        )
      assert.deepEqual([attempts('delivered'), attempts('failed')], [1, 3])
    })
  })

const jtiOf = (token: string): string => claimsIn(token).jti

/** How many clients are still to be told. */
async function noticesOf(t: TestContext, databaseUrl: string) {
  const { db, close } = await openDatabase<IdentityTables>(databaseUrl, identityMigrations)
  t.after(close)
  return async () => (await db.selectFrom('logout_notices').select('session_id').execute()).length
}
