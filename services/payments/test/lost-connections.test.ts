import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import type { Db } from '../src/payment/database/tables.ts'
import { startSmallProvider } from './small-provider.ts'
import { checkoutBody, providerEnv } from './start-loop.ts'
import { engines, startPayments } from './start-payments.ts'

const postgres = engines.find(({ name }) => name === 'postgres')

const PAYMENTS = 12
const REFUNDS = 10
/** All connections are ended again after this many deliveries. */
const DELIVERIES_BETWEEN = 8

test('ending connections during webhooks loses no acknowledged event and leaves none half applied', {
  skip: postgres?.skip,
}, async (t) => {
  const { service, startNode, openPaid } = await start(t)
  const intents: string[] = []
  while (intents.length < PAYMENTS) intents.push(await openPaid())
  const lives = intents.map(refundsOf)
  const all = lives.flat()
  const acknowledged = new Set<string>()
  let deliveries = 0
  const deliverLife = async (events: Event[]) => {
    for (const event of events) {
      if (++deliveries % DELIVERIES_BETWEEN === 0) await endConnections(service.payments.db)
      const { status } = await service.deliver(event)
      if (status === 200) acknowledged.add(event.id)
    }
  }

  await Promise.all(lives.map(deliverLife))

  const node = await startNode()
  const kept = await keptOf(node.payments.db)
  assert.ok(acknowledged.size > 0 && acknowledged.size < all.length)
  for (const { id } of all) {
    const { status, effects } = kept.get(id) ?? { status: 'ABSENT', effects: 0 }
    const isWhole = status === 'PROCESSED' && effects === 1
    const isUndone = ['ABSENT', 'FAILED'].includes(status) && effects === 0
    assert.ok(isWhole || (isUndone && !acknowledged.has(id)), `${id}: ${status}, ${effects}`)
  }
  for (const event of all) assert.equal((await node.deliver(event)).status, 200)
  const applied = await keptOf(node.payments.db)
  for (const { id } of all) assert.equal(applied.get(id)?.effects, 1)
  const { content } = (await node.api.get('/api/payments')).body
  assert.deepEqual(
    content.map(({ refundedAmount }: { refundedAmount: number }) => refundedAmount),
    intents.map(() => REFUNDS),
  )
})

test('an event is 503 while the database accepts no writes, and is applied when it comes again', {
  skip: postgres?.skip,
}, async (t) => {
  const { service, openPaid } = await start(t)
  const { db } = service.payments
  const [event] = refundsOf(await openPaid())

  await refuseEvents(db)
  const { status, body, headers } = await service.deliver(event)
  await sql`drop trigger refuse on webhook_events`.execute(db)
  const applied = await service.deliver(event)

  assert.deepEqual([status, body.code], [503, 'STORAGE_READ_ONLY'])
  assert.equal(headers.get('retry-after'), '5')
  assert.deepEqual([applied.status, applied.body.duplicate], [200, false])
})

type Event = { id: string; type: string; data: object }

async function start(t: TestContext) {
  let sessions = 0
  const provider = await startSmallProvider(t, {
    'POST /v1/checkout/sessions': () => ({
      body: { id: `cs_${++sessions}`, url: 'https://pay.example/' },
    }),
  })
  const databaseUrl = (await postgres?.freshUrl(t)) ?? ''
  const startNode = () => startPayments(t, { env: providerEnv(provider), databaseUrl })
  const service = await startNode()
  const openPaid = async () => {
    const { body } = await service.api.post('/api/checkout/sessions', checkoutBody())
    const id = body.checkoutSessionId
    const object = { id, payment_status: 'paid', payment_intent: `pi_${id}` }
    const event = { id: `evt_${id}`, type: 'checkout.session.completed', data: { object } }
    assert.equal((await service.deliver(event)).status, 200)
    return object.payment_intent
  }
  return { service, startNode, openPaid }
}

function refundsOf(payment_intent: string): Event[] {
  return Array.from({ length: REFUNDS }, (_, n) => {
    const refund = { id: `re_${n}_${payment_intent}`, amount: 1, currency: 'eur', payment_intent }
    const object = { ...refund, status: 'succeeded' }
    return { id: `evt_${n}_${payment_intent}`, type: 'refund.created', data: { object } }
  })
}

/** Ends all connections but its own, which another call may end. */
async function endConnections(db: Db): Promise<void> {
  await sql`select pg_terminate_backend(pid) from pg_stat_activity
    where datname = current_database() and pid != pg_backend_pid()`
    .execute(db)
    .catch(() => {})
}

/** Writes fail as on a standby. */
async function refuseEvents(db: Db): Promise<void> {
  await sql`create function refuse() returns trigger language plpgsql as
    $$ begin raise exception 'read-only' using errcode = '25006'; end $$`.execute(db)
  await sql`create trigger refuse before insert on webhook_events
    for each row execute function refuse()`.execute(db)
}

/** The status of each event, and how often it changed its payment. */
async function keptOf(db: Db) {
  const { rows } = await sql<{ id: string; status: string; effects: number }>`
    select id, status, (select count(*) from observations where event_id = webhook_events.id) as effects
    from webhook_events`.execute(db)
  return new Map(rows.map((row) => [row.id, row]))
}
