import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { startReceiver } from '@plinth/events/testing'
import { openDatabase } from '@plinth/kit/database'
import { systemClock } from '@plinth/kit/runtime'
import { spawnService, type TestEngine, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/config.ts'
import { migrations } from '../src/payment/database/migrations/index.ts'
import type { PaymentTables } from '../src/payment/database/tables.ts'
import { checkoutBody, providerEnv, startSandbox } from './start-loop.ts'
import { delivererTo, engines, startPayments, WEBHOOK_SECRET } from './start-payments.ts'

const MAIN = join(import.meta.dirname, '../src/main.ts')
const KEY = Buffer.from(Array.from({ length: 32 }, (_, index) => index * 7)).toString('base64')

/** A service that dies at a fail point while it delivers, and one that starts after it. */
async function start(t: TestContext, engine: TestEngine) {
  const sandbox = await startSandbox(t, systemClock)
  const receiver = await startReceiver(t)
  const databaseUrl = await engine.freshUrl(t)
  const env = {
    ...(providerEnv(sandbox) as Record<string, string>),
    PROVIDER_WEBHOOK_SECRET: WEBHOOK_SECRET,
    PAYMENTS_MASTER_KEY: KEY,
    PAYMENTS_PORT: '0',
    PAYMENTS_DATABASE_URL: databaseUrl,
  }
  const { events } = loadConfig(env)
  /** A service that delivers, in this process. */
  const run = () => startPayments(t, { env, clock: now(), overrides: { events } })
  const dieAt = (point: string) => spawnService(t, MAIN, { ...env, FAIL_POINT: `${point}=kill` })
  return { sandbox, receiver, run, dieAt, databaseUrl }
}

for (const engine of engines)
  describe(`an event on ${engine.name}`, { ...engine.options, concurrency: 4 }, () => {
    for (const point of ['webhook:committed', 'events:claimed', 'events:sent', 'events:recorded'])
      test(`is not lost when the service is killed at ${point}`, async (t) => {
        const { sandbox, receiver, run, dieAt, databaseUrl } = await start(t, engine)
        const first = await run()
        await first.api.post('/api/webhooks/endpoints', {
          url: receiver.url,
          types: ['payment.paid'],
        })
        const { body } = await first.api.post('/api/checkout/sessions', checkoutBody())
        await until(
          () => receiver.all.length,
          (count) => count === 1,
        )
        await first.server.close()
        await sandbox.pay(body.checkoutSessionId)
        const [completed] = (await sandbox.events()).filter(
          ({ type }: { type: string }) => type === 'checkout.session.completed',
        )
        const dying = await dieAt(point)

        await delivererTo(dying.api, systemClock)(completed).catch(() => {})
        await dying.ended
        await endLeases(databaseUrl)
        await run()
        await until(
          () => receiver.delivered.length,
          (count) => count > 0,
        )

        const ids = new Set(receiver.delivered.map(({ id }) => id))
        assert.equal(ids.size, 1)
        assert.equal(JSON.parse(receiver.delivered[0]?.body ?? '').data.paymentId, body.paymentId)
      })
  })

const now = () => testClock(new Date().toISOString())

/** The lease of the dead service expires after a minute; a test does not wait for it. */
async function endLeases(url: string): Promise<void> {
  const { db, close } = await openDatabase<PaymentTables>(url, migrations)
  await db.updateTable('event_deliveries').set({ lease_until: null }).execute()
  await close()
}
