import { durableInsertsPerSecond } from '../baselines/durable-inserts.ts'
import type { Row } from '../harness/row.ts'
import { SECONDS } from '../harness/settings.ts'
import { deliverAll } from '../payments/deliver.ts'
import { interleaved, openPayments, warmUp, withPayments } from '../payments/payments.ts'
import type { Opened } from '../payments/signed-events.ts'
import type { DatabaseNamed } from './databases.ts'
import { rateAgainst } from './rates.ts'
import { requestRate, startBareTurns } from './sessions.ts'

const PAYMENTS = Math.ceil(60 * SECONDS)
const ROUNDS = 8

/** Webhooks with effects, and reads. */
export async function payments(databaseNamed: DatabaseNamed): Promise<Row[]> {
  const bare = await databaseNamed('bare_events')
  const PAYMENTS_DATABASE_URL = await databaseNamed('payments')
  const turns = await startBareTurns(await databaseNamed('bare_payments'))
  return withPayments({ PAYMENTS_DATABASE_URL }, (ours) =>
    withPayments({}, async (sqlite) => {
      const [own, other] = [await webhookRate(ours.url), await webhookRate(sqlite.url)]
      const reading = requestRate(ours, { path: `/api/payments/${own.first.paymentId}` })
      const inserts = () => durableInsertsPerSecond(bare, 'x'.repeat(500), SECONDS / 2)
      return [
        await rateAgainst(
          'webhooks with effects on PostgreSQL, against durable inserts over 10 connections',
          own.deliver,
          inserts,
          0.15,
        ),
        await rateAgainst('the same, against SQLite', own.deliver, other.deliver),
        await rateAgainst(
          'GET /api/payments/{id} on PostgreSQL, against SQLite',
          reading,
          requestRate(sqlite, { path: `/api/payments/${other.first.paymentId}` }),
        ),
        await rateAgainst(
          'the same, against node:http with one query per turn',
          reading,
          requestRate(turns, { path: '/' }),
        ),
      ]
    }),
  ).finally(turns.stop)
}

/** Each turn delivers the webhooks of payments that had none before. */
async function webhookRate(url: string) {
  await warmUp(url)
  const opened = await openPayments(url, PAYMENTS * ROUNDS)
  const first = opened[0] as Opened
  const deliver = () => deliverAll(url, interleaved(opened.splice(0, PAYMENTS)))
  return { first, deliver }
}
