import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { deleteOldestPending } from '../src/database/authorizations.repository.ts'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { formRequest, openBrowser, type Registered, registerClient, requestOf } from './browser.ts'
import { engines, startIdentity } from './start-identity.ts'

const MAX_PENDING = 1000
const SLOW = { tags: ['all'] }
const DEVICE = 'urn:ietf:params:oauth:grant-type:device_code'
const from = (address: string) => ({ 'x-forwarded-for': address })

for (const engine of engines)
  describe(`a flood of requests on ${engine.name}`, engine.options, () => {
    const env = { IDENTITY_TRUSTED_PROXIES: 'loopback' }

    async function start(t: TestContext) {
      const started = await startIdentity(t, { engine, env })
      const client = await registerClient(started.api, {
        authMethod: 'none',
        grantTypes: ['authorization_code', DEVICE],
      })
      const opened = await openDatabase<IdentityTables>(
        started.config.databaseUrl,
        identityMigrations,
      )
      t.after(opened.close)
      const rowsOf = async (table: 'authorizations' | 'pushed_requests' | 'device_requests') => {
        const { fn } = opened.db
        const query = opened.db.selectFrom(table).select(fn.countAll().as('rows'))
        return Number((await query.executeTakeFirstOrThrow()).rows)
      }
      return { ...started, client, db: opened.db, rowsOf }
    }

    /** As many as are allowed were sent before: counted as the service counts them. */
    async function exhaust(t: TestContext, ask: (address: string) => Promise<unknown>) {
      const address = '198.51.100.7'
      for (let done = 0; done < MAX_PENDING; done += 50)
        await Promise.all(Array.from({ length: 50 }, () => ask(address)))
      t.diagnostic(`${MAX_PENDING} requests`)
      return address
    }

    test(
      'of one network leaves a bounded number of authorizations, and others go on',
      SLOW,
      async (t) => {
        const { api, client, clock, rowsOf } = await start(t)
        const { parameters } = requestOf(client)
        const path = `/oauth2/authorize?${new URLSearchParams(parameters)}`
        const ask = (address: string) => api.get(path, { headers: from(address) })
        const flooding = await exhaust(t, ask)

        const refused = await ask(flooding)
        const other = await ask('203.0.113.9')

        const answer = new URL(refused.headers.get('location') ?? '')
        assert.equal(answer.origin, 'https://wiki.example')
        assert.equal(answer.searchParams.get('error'), 'temporarily_unavailable')
        assert.equal(answer.searchParams.get('state'), 'some state')
        assert.match(other.headers.get('location') ?? '', /authorization=/)
        assert.equal(await rowsOf('authorizations'), MAX_PENDING + 1)
        clock.advance(601)
        const later = await ask(flooding)
        assert.match(later.headers.get('location') ?? '', /authorization=/)
      },
    )

    test('of pushed requests and devices is bounded for public clients', {
      tags: ['all'],
    }, async (t) => {
      const { api, client, rowsOf } = await start(t)
      const { parameters } = requestOf(client)
      const push = (address: string) => formRequest(api, '/oauth2/par', parameters, from(address))
      const device = (address: string) => {
        const form = { client_id: client.clientId, scope: 'openid' }
        return formRequest(api, '/oauth2/device_authorization', form, from(address))
      }
      const flooding = await exhaust(t, push)
      await exhaust(t, device)

      const refused = [await push(flooding), await device(flooding)]
      const others = [await push('203.0.113.9'), await device('203.0.113.9')]

      for (const { status, body, headers } of refused) {
        assert.deepEqual([status, body.error], [429, 'temporarily_unavailable'])
        assert.ok(Number(headers.get('retry-after')) > 0)
      }
      assert.deepEqual(
        others.map(({ status }) => status),
        [201, 200],
      )
      assert.equal(await rowsOf('pushed_requests'), MAX_PENDING + 1)
      assert.equal(await rowsOf('device_requests'), MAX_PENDING + 1)
    })

    test('of devices is bounded for public clients alone', async (t) => {
      const { api, client, db } = await start(t)
      const grantTypes = ['authorization_code', DEVICE]
      const secret = await registerClient(api, { name: 'Secret', grantTypes })
      const ask = ({ clientId, clientSecret }: Registered) =>
        formRequest(api, '/oauth2/device_authorization', {
          ...{ client_id: clientId, scope: 'openid' },
          ...(clientSecret !== null && { client_secret: clientSecret }),
        })
      await ask(client)
      // As if all that are allowed had been sent.
      await db.updateTable('failed_attempts').set({ failures: MAX_PENDING }).execute()

      const [refused, admitted] = [await ask(client), await ask(secret)]

      assert.deepEqual([refused.status, admitted.status], [429, 200])
    })

    test('of many networks is bounded in all: the newest are kept', async (t) => {
      const { api, client, clock, db, rowsOf } = await start(t)
      const browser = openBrowser(api)
      const ids: string[] = []
      for (let number = 0; number < 5; number += 1) {
        ids.push((await browser.authorize(requestOf(client).parameters)).id)
        clock.advance(1)
      }

      await deleteOldestPending(db, 2, new AbortController().signal)
      await deleteOldestPending(db, 2, new AbortController().signal)

      assert.equal(await rowsOf('authorizations'), 2)
      const statuses = await Promise.all(ids.map(async (id) => (await browser.show(id)).status))
      assert.deepEqual(statuses, [404, 404, 404, 200, 200])
    })
  })
