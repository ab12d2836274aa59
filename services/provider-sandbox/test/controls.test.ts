import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { ApiReply } from '@plinth/kit/testing'
import { orderOf, paidOrder } from './orders.ts'
import { startReceiver } from './receiver.ts'
import { startSandbox } from './start-sandbox.ts'

describe('the clock', () => {
  test('stops at everything that becomes due on the way', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))
    await api.post(`/sandbox/api/sessions/${id}/bank-debit`, { delaySeconds: 600 })
    const other = await stripe.checkout.sessions.create(orderOf(1000))

    const { body: clock } = await api.post('/sandbox/api/clock/advance', { seconds: 172_800 })

    const events = await stripe.events.list({
      types: ['checkout.session.async_payment_succeeded', 'checkout.session.expired'],
    })
    assert.deepEqual(clock, { now: '2030-01-03T00:00:00.000Z', offsetSeconds: 172_800 })
    assert.deepEqual(
      events.data.map(({ created, type }) => [created - other.created, type]),
      [
        [86_400, 'checkout.session.expired'],
        [600, 'checkout.session.async_payment_succeeded'],
      ],
    )
  })

  test('can be reset to the machine’s time, and what happened stays', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))
    await api.post('/sandbox/api/clock/advance', { seconds: 172_800 })

    const { body: clock } = await api.delete('/sandbox/api/clock')

    assert.deepEqual(clock, { now: '2030-01-01T00:00:00.000Z', offsetSeconds: 0 })
    assert.equal((await stripe.checkout.sessions.retrieve(id)).status, 'expired')
  })

  test('is never moved back by an advance', async (t) => {
    const { api } = await startSandbox(t)

    assert.equal((await api.post('/sandbox/api/clock/advance', { seconds: -1 })).status, 400)
  })
})

describe('the books', () => {
  test('are one snapshot: they balance while customers pay', async (t) => {
    // In memory there is one connection, whose reads no write comes between.
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const { api, stripe } = await startSandbox(t, {
      SANDBOX_DATABASE_URL: `sqlite:${folder}/sandbox.db`,
    })
    const sessions = await Promise.all(
      Array.from({ length: 12 }, () => stripe.checkout.sessions.create(orderOf(1000))),
    )

    const books: ApiReply[] = []
    let open = true
    const reading = (async () => {
      while (open)
        books.push(...(await Promise.all([1, 2, 3].map(() => api.get('/sandbox/api/books')))))
    })()
    for (const { id } of sessions) await api.post(`/sandbox/api/sessions/${id}/pay`)
    open = false
    await reading

    for (const { body } of books) {
      const { kept = 0 } = Object.values<{ kept: number }>(body.totals)[0] ?? {}
      assert.equal(kept, Object.values<number>(body.ledger)[0] ?? 0)
    }
  })

  test('count sessions by a metadata entry', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const of = (order: string) => orderOf(1000, { metadata: { order } })
    const first = await stripe.checkout.sessions.create(of('a'))
    await stripe.checkout.sessions.expire(first.id)
    await stripe.checkout.sessions.create(of('a'))
    const paid = await stripe.checkout.sessions.create(of('b'))
    await api.post(`/sandbox/api/sessions/${paid.id}/pay`)

    const { body: counts } = await api.get('/sandbox/api/books/sessions?by=order')

    assert.deepEqual(counts, {
      a: { open: 1, complete: 0, expired: 1, paid: 0 },
      b: { open: 0, complete: 1, expired: 0, paid: 1 },
    })
  })
})

describe('the actions', () => {
  test('take card and account numbers in groups, as they are documented', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const act = async (action: string, body: object) => {
      const { id } = await stripe.checkout.sessions.create(orderOf(1000))
      return (await api.post(`/sandbox/api/sessions/${id}/${action}`, body)).body.outcome.state
    }

    assert.equal(await act('pay', { card: '4242 4242 4242 4242' }), 'paid')
    assert.equal(await act('pay', { card: '4000 0025 0000 3155' }), 'challenge')
    assert.equal(await act('decline', { card: '4000 0000 0000 9995' }), 'declined')
    assert.equal(await act('bank-debit', { account: '000 123 456 789' }), 'processing')
  })

  test('know no card or metadata entry that is a property of every object', async (t) => {
    const { stripe, api } = await startSandbox(t)
    for (const card of ['constructor', '__proto__', 'toString']) {
      const { id } = await stripe.checkout.sessions.create(orderOf(1000))
      const { body } = await api.post(`/sandbox/api/sessions/${id}/pay`, { card })
      assert.equal(body.outcome.state, 'declined')
    }

    assert.deepEqual((await api.get('/sandbox/api/books/sessions?by=__proto__')).body, {})
  })

  test('refuse a delay that no clock or timer can wait', async (t) => {
    const { stripe, api } = await startSandbox(t)
    const { id } = await stripe.checkout.sessions.create(orderOf(1000))
    const delaySeconds = Number.MAX_SAFE_INTEGER

    const replies = [
      await api.post(`/sandbox/api/sessions/${id}/bank-debit`, { delaySeconds }),
      await api.patch('/sandbox/api/switches', { delaySeconds }),
      await api.post('/sandbox/api/faults', { kind: 'latency', delayMs: 2 ** 31 }),
    ]

    assert.deepEqual(
      replies.map(({ status }) => status),
      [400, 400, 400],
    )
  })
})

describe('the request log', () => {
  test('shows every call, its key, its answer and the fault that struck it', async (t) => {
    const { stripe, api } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'forbidden', route: 'GET /v1/balance' })
    await stripe.balance.retrieve().catch(() => {})
    await stripe.customers.create({}, { idempotencyKey: 'k' })
    await stripe.customers.create({}, { idempotencyKey: 'k' })

    const { body: requests } = await api.get('/sandbox/api/requests')

    const shown = requests.map((request: Record<string, unknown>) => {
      const { method, path, idempotencyKey, status, replayed, fault } = request
      return [method, path, idempotencyKey, status, replayed, fault]
    })
    assert.deepEqual(shown, [
      ['POST', '/v1/customers', 'k', 200, true, null],
      ['POST', '/v1/customers', 'k', 200, false, null],
      ['GET', '/v1/balance', null, 403, false, 'forbidden'],
    ])
  })
})

describe('a scenario', () => {
  test('carries everything into another sandbox', async (t) => {
    const first = await startSandbox(t)
    const { session, intent } = await paidOrder(first)
    await first.api.post('/sandbox/api/clock/advance', { seconds: 100 })
    await first.api.patch('/sandbox/api/switches', { duplicates: 3 })
    const { body: scenario } = await first.api.get('/sandbox/api/scenario')
    const second = await startSandbox(t)

    const taken = await second.api.put('/sandbox/api/scenario', scenario)

    assert.equal(taken.status, 204)
    assert.equal((await second.stripe.checkout.sessions.retrieve(session)).status, 'complete')
    assert.ok(await second.stripe.refunds.create({ payment_intent: intent }))
    assert.equal((await second.api.get('/sandbox/api/clock')).body.offsetSeconds, 100)
    assert.equal((await second.api.get('/sandbox/api/switches')).body.duplicates, 3)
  })

  test('that is invalid changes nothing', async (t) => {
    const sandbox = await startSandbox(t)
    const { session } = await paidOrder(sandbox)
    const put = (tables: object) =>
      sandbox.api.put('/sandbox/api/scenario', { plinthSandbox: 1, tables })

    const replies = [
      await put({ unicorns: [] }),
      await put({ objects: [{ colour: 'red' }] }),
      await put({ objects: [{ id: 'cus_1' }] }),
      await put({ values: [{ name: 'a', value: { b: 'c' } }] }),
      await put({
        values: [
          { name: 'a', value: '1' },
          { name: 'a', value: '2' },
        ],
      }),
      await put({ values: [{ name: 'clock-offset-ms', value: 'soon' }] }),
      await put({ values: [{ name: 'clock-offset-ms', value: '"soon"' }] }),
      await put({ values: [{ name: 'switches', value: '{' }] }),
    ]

    assert.deepEqual(
      replies.map(({ status }) => status),
      replies.map(() => 400),
    )
    assert.ok(await sandbox.stripe.checkout.sessions.retrieve(session))
  })

  test('is discarded by a reset, except for the configured endpoint', async (t) => {
    const receiver = await startReceiver(t)
    const sandbox = await startSandbox(t, {
      SANDBOX_WEBHOOK_URL: receiver.url,
      SANDBOX_WEBHOOK_SECRET: 'whsec_of_the_settings',
    })
    await paidOrder(sandbox)
    await sandbox.api.post('/sandbox/api/clock/advance', { seconds: 100 })

    await sandbox.api.post('/sandbox/api/reset')

    const { body: endpoints } = await sandbox.api.get('/sandbox/api/webhook-endpoints')
    assert.equal((await sandbox.stripe.events.list()).data.length, 0)
    assert.equal((await sandbox.api.get('/sandbox/api/clock')).body.offsetSeconds, 0)
    assert.deepEqual(
      endpoints.map((endpoint: { url: string; secret: string }) => [endpoint.url, endpoint.secret]),
      [[receiver.url, 'whsec_of_the_settings']],
    )
  })

  test('does not reuse ids after a reset', async (t) => {
    const sandbox = await startSandbox(t)
    const { session: before } = await paidOrder(sandbox)

    await sandbox.api.post('/sandbox/api/reset')
    const { session: after } = await paidOrder(sandbox)

    assert.notEqual(after, before)
  })
})

describe('a restart', () => {
  test('keeps the state, the moved clock and the outstanding deliveries', async (t) => {
    const folder = mkdtempSync(join(tmpdir(), 'sandbox-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const receiver = await startReceiver(t)
    const settings = {
      SANDBOX_DATABASE_URL: `sqlite:${folder}/sandbox.db`,
      SANDBOX_WEBHOOK_URL: receiver.url,
      SANDBOX_WEBHOOK_SECRET: 'whsec_of_the_settings',
    }
    const first = await startSandbox(t, settings)
    await first.api.patch('/sandbox/api/switches', { paused: true })
    const { session } = await paidOrder(first)
    await first.api.post('/sandbox/api/clock/advance', { seconds: 3600 })
    await first.server.close()

    const second = await startSandbox(t, settings)
    await second.api.patch('/sandbox/api/switches', { paused: false })
    await second.api.post('/sandbox/api/deliveries/flush')

    assert.equal((await second.stripe.checkout.sessions.retrieve(session)).status, 'complete')
    assert.equal((await second.api.get('/sandbox/api/clock')).body.offsetSeconds, 3600)
    assert.equal(receiver.types().at(-1), 'checkout.session.completed')
  })
})
