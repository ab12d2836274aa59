import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { type Api, propertyRuns } from '@plinth/kit/testing'
import fc from 'fast-check'
import type Stripe from 'stripe'
import { orderOf } from './orders.ts'
import { startReceiver } from './receiver.ts'
import { startSandbox } from './start-sandbox.ts'

type World = { stripe: Stripe; api: Api; sessions: string[]; intents: string[]; refunds: string[] }
type Step = { name: string; run: (world: World) => Promise<unknown> }

const pick = (from: string[], n: number) => from[n % Math.max(from.length, 1)] ?? 'none'
const any = fc.nat({ max: 20 })
const step = (name: string, run: Step['run']): Step => ({ name, run })

/** A call that may be refused or struck by a fault; whatever it answers, the books must hold. */
const tried = (work: Promise<unknown>) => work.catch(() => undefined)

const create = fc.record({ amount: fc.integer({ min: 0, max: 5000 }), key: any }).map((given) =>
  step(`create ${given.amount}`, async ({ stripe, sessions }) => {
    const order = orderOf(given.amount)
    const made = await tried(
      stripe.checkout.sessions.create(order, { idempotencyKey: `${given.key}` }),
    )
    if (made) sessions.push((made as Stripe.Checkout.Session).id)
  }),
)

const act = fc
  .record({
    n: any,
    action: fc.constantFrom('pay', 'decline', 'bank-debit', 'settle', 'fail', 'expire'),
    card: fc.constantFrom('4242424242424242', '4000000000007726', '4000000000005126'),
  })
  .map(({ n, action, card }) =>
    step(`${action} ${n}`, async ({ api, sessions, intents }) => {
      const body = action === 'pay' ? { card } : undefined
      const path = `/sandbox/api/sessions/${pick(sessions, n)}/${action}`
      const { body: reply } = await api.post(path, body)
      const intent = reply.session?.payment_intent
      if (intent && !intents.includes(intent)) intents.push(intent)
    }),
  )

const refund = fc
  .record({ n: any, amount: fc.option(fc.integer({ min: 1, max: 5000 })), key: any })
  .map(({ n, amount, key }) =>
    step(`refund ${n} ${amount}`, async ({ stripe, intents, refunds }) => {
      const parameters = { payment_intent: pick(intents, n), ...(amount && { amount }) }
      const made = await tried(stripe.refunds.create(parameters, { idempotencyKey: `r${key}` }))
      if (made) refunds.push((made as Stripe.Refund).id)
    }),
  )

const decide = fc
  .record({ n: any, decision: fc.constantFrom('succeed', 'fail', 'cancel') })
  .map(({ n, decision }) =>
    step(`${decision} refund ${n}`, ({ api, refunds }) =>
      api.post(`/sandbox/api/refunds/${pick(refunds, n)}/${decision}`),
    ),
  )

const fault = fc
  .constantFrom(
    'error-before',
    'error-instead',
    'error-after',
    'reset-after',
    'truncated',
    'in-use',
  )
  .map((kind) =>
    step(`fault ${kind}`, ({ api }) => api.post('/sandbox/api/faults', { kind, route: 'POST *' })),
  )

const switches = fc
  .record({
    duplicates: fc.nat({ max: 2 }),
    reorder: fc.nat({ max: 4 }),
    delaySeconds: fc.nat({ max: 60 }),
    refunds: fc.constantFrom('by-method', 'pending', 'requires-action', 'fail-later'),
  })
  .map((given) =>
    step(`switches ${JSON.stringify(given)}`, ({ api }) =>
      api.patch('/sandbox/api/switches', given),
    ),
  )

const move = fc
  .constantFrom(1, 30, 3600, 90_000)
  .map((seconds) =>
    step(`clock +${seconds}`, ({ api }) => api.post('/sandbox/api/clock/advance', { seconds })),
  )

const steps = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: create },
    { weight: 5, arbitrary: act },
    { weight: 5, arbitrary: refund },
    { weight: 2, arbitrary: decide },
    fault,
    switches,
    move,
  ),
  { minLength: 5, maxLength: 30 },
)

async function checkBooks({ api, stripe }: World): Promise<void> {
  const { body: books } = await api.get('/sandbox/api/books')
  const sums: Record<string, number> = {}
  for (const { currency, captured, refunded, pending, kept } of books.payments) {
    assert.equal(captured, refunded + kept)
    assert.ok(refunded >= 0 && pending >= 0 && kept >= pending)
    sums[currency] = (sums[currency] ?? 0) + captured - refunded - pending
  }
  for (const [currency, sum] of Object.entries(sums)) assert.equal(books.ledger[currency] ?? 0, sum)
  for await (const charge of stripe.charges.list({ limit: 100 }))
    assert.ok(charge.amount_refunded >= 0 && charge.amount_refunded <= charge.amount_captured)
}

describe('whatever happens', () => {
  test('the books balance and every event arrives at least once', {
    tags: ['property'],
  }, async (t) => {
    const property = fc.asyncProperty(steps, async (sequence) => {
      const scope = disposals()
      try {
        const { stripe, api } = await startSandbox(scope)
        const receiver = await startReceiver(scope)
        const endpoint = { url: receiver.url, secret: 'whsec_test' }
        await api.post('/sandbox/api/webhook-endpoints', endpoint)
        const world: World = { stripe, api, sessions: [], intents: [], refunds: [] }
        for (const { run } of sequence) {
          await run(world)
          await checkBooks(world)
        }

        await api.delete('/sandbox/api/switches')
        await api.delete('/sandbox/api/faults')
        await api.post('/sandbox/api/clock/advance', { seconds: 120 })

        const recorded: string[] = []
        for await (const event of stripe.events.list({ limit: 100 })) recorded.push(event.id)
        const arrived = new Set(receiver.received.map(({ event }) => event.id))
        assert.deepEqual(
          recorded.filter((id) => !arrived.has(id)),
          [],
        )
      } finally {
        await scope.end()
      }
    })

    await fc.assert(property, { numRuns: propertyRuns(25) })
    t.diagnostic('captured = refunded + kept after every step')
  })

  test('an idempotency key always answers with the same bytes', {
    tags: ['property'],
  }, async (t) => {
    const { api } = await startSandbox(t)
    const kinds = [null, 'error-after', 'error-instead'] as const
    let keys = 0
    const call = (key: string, body: string) =>
      api.request('POST', '/v1/customers', {
        token: 'sk_test_x',
        headers: { 'idempotency-key': key, 'content-type': 'application/x-www-form-urlencoded' },
        body,
      })
    const given = fc.record({
      kind: fc.constantFrom(...kinds),
      fields: fc.dictionary(fc.constantFrom('name', 'description'), fc.string({ minLength: 1 })),
      replays: fc.integer({ min: 1, max: 4 }),
    })

    const property = fc.asyncProperty(given, async ({ kind, fields, replays }) => {
      const key = `key-${keys++}`
      const body = new URLSearchParams(fields).toString()
      if (kind) await api.post('/sandbox/api/faults', { kind })
      const first = await call(key, body)
      for (let n = 0; n < replays; n++) {
        const again = await call(key, body)
        assert.equal(again.status, first.status)
        assert.deepEqual(again.bytes, first.bytes)
        assert.equal(again.headers.get('idempotent-replayed'), 'true')
      }
    })

    await fc.assert(property, { numRuns: propertyRuns(35) })
  })
})

/** Stands in for the test context in `startSandbox`, once for each run of the property. */
function disposals() {
  const works: (() => unknown)[] = []
  const after = ((work: () => unknown) => {
    works.push(work)
  }) as never
  const end = async () => {
    for (const work of works.reverse()) await work()
  }
  return { after, end }
}
