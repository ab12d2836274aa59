import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { gzipSync } from 'node:zlib'
import type Stripe from 'stripe'
import { orderOf, paidOrder } from './orders.ts'
import { startSandbox, stripeFor } from './start-sandbox.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

describe('the API', () => {
  test('requires a key', async (t) => {
    const { api } = await startSandbox(t)

    const reply = await api.get('/v1/balance')

    assert.equal(reply.status, 401)
    assert.equal(reply.body.error.type, 'invalid_request_error')
  })

  for (const key of ['sk_live_abcdefgh12345678', 'rk_live_abcdefgh12345678'])
    test(`refuses the live key ${key.slice(0, 8)}… and does not repeat it`, async (t) => {
      const { port } = await startSandbox(t)

      await assert.rejects(stripeFor(port, key).balance.retrieve(), (error: Error) => {
        assert.match(error.message, /refuses live keys/)
        assert.doesNotMatch(error.message, /abcdefgh/)
        return true
      })
    })

  test('accepts a key as the user name of basic authentication', async (t) => {
    const { api } = await startSandbox(t)
    const authorization = `Basic ${Buffer.from('sk_test_x:').toString('base64')}`

    assert.equal((await api.get('/v1/balance', { headers: { authorization } })).status, 200)
  })

  test('answers with its headers and an error that links to the log', async (t) => {
    const { api, baseUrl } = await startSandbox(t)
    const headers = { ...FORM, 'stripe-version': '2026-10-28.endive' }

    const reply = await api.request('POST', '/v1/customers', {
      token: 'sk_test_x',
      headers,
      body: 'colour=red',
    })

    const requestId = reply.headers.get('request-id')
    assert.equal(reply.headers.get('stripe-version'), '2026-10-28.endive')
    assert.deepEqual(reply.body, {
      error: {
        code: 'parameter_unknown',
        doc_url: 'https://docs.stripe.com/error-codes#parameter-unknown',
        message: 'Received unknown parameter: colour',
        param: 'colour',
        request_log_url: `${baseUrl.replace('127.0.0.1', 'localhost')}/sandbox#${requestId}`,
        type: 'invalid_request_error',
      },
    })
  })

  test('refuses a gzip-compressed form with 415', async (t) => {
    const { api, stripe } = await startSandbox(t)

    const reply = await api.request('POST', '/v1/customers', {
      token: 'sk_test_x',
      headers: { ...FORM, 'content-encoding': 'gzip' },
      body: gzipSync('name=Ada'),
    })

    assert.deepEqual([reply.status, reply.body.error.type], [415, 'invalid_request_error'])
    assert.equal((await stripe.customers.list()).data.length, 0)
  })

  for (const [name, method, path] of [
    ['an unknown path', 'GET', '/v1/unicorns?size=1'],
    ['a method that a path does not have', 'PUT', '/v1/balance'],
    ['the root of the API', 'POST', '/v1'],
    ['a search', 'GET', '/v1/customers/search?query=a'],
  ] as const)
    test(`answers ${name} as the provider does, and logs it`, async (t) => {
      const { api, baseUrl } = await startSandbox(t)

      const reply = await api.request(method, path, {
        headers: { 'content-type': 'text/xml' },
        ...(method !== 'GET' && { body: '<no/>' }),
      })

      const requestId = reply.headers.get('request-id')
      const [logged] = (await api.get('/sandbox/api/requests')).body
      const [shown] = path.split('?')
      assert.equal(reply.status, 404)
      assert.match(requestId ?? '', /^req_/)
      assert.match(reply.headers.get('content-type') ?? '', /^application\/json/)
      assert.deepEqual(reply.body, {
        error: {
          message: `Unrecognized request URL (${method}: ${shown}). The sandbox does not know this path.`,
          request_log_url: `${baseUrl.replace('127.0.0.1', 'localhost')}/sandbox#${requestId}`,
          type: 'invalid_request_error',
        },
      })
      assert.deepEqual([logged.id, logged.path, logged.status], [requestId, path, 404])
    })

  test('during an outage breaks the connection even for an unknown path', async (t) => {
    const { api } = await startSandbox(t)
    await api.post('/sandbox/api/faults', { kind: 'outage' })

    await assert.rejects(api.get('/v1/unicorns'), /fetch failed/)
  })

  test('refuses JSON, broken forms and parameters of the wrong shape', async (t) => {
    const { api } = await startSandbox(t)
    const post = (body: string, headers: Record<string, string> = FORM) =>
      api.request('POST', '/v1/customers', { token: 'sk_test_x', headers, body })

    const replies = await Promise.all([
      post('{"email":"a@b.c"}', { 'content-type': 'application/json' }),
      post('metadata[a[b]]=1'),
      post('email=%E0%A4%A'),
      post('email[x]=1'),
      post('expand[]='),
      post('metadata=x'),
    ])

    for (const { status, body } of replies) {
      assert.equal(status, 400)
      assert.equal(body.error.type, 'invalid_request_error')
    }
  })

  test('answers a broken form like any other call: by its key, with a request id, and logged', async (t) => {
    const { api } = await startSandbox(t)
    const post = (token?: string) =>
      api.request('POST', '/v1/customers', {
        token,
        headers: FORM,
        body: 'email=a@b.c&email=d@e.f',
      })

    const broken = await post('sk_test_x')
    const [logged] = (await api.get('/sandbox/api/requests')).body
    const unknown = await post()

    assert.equal(broken.status, 400)
    assert.deepEqual([logged.id, logged.status], [broken.headers.get('request-id'), broken.status])
    assert.equal(unknown.status, 401)
  })

  test('refuses a body that is not a form, and names the media type it expects', async (t) => {
    const { api } = await startSandbox(t)

    const { status, body } = await api.request('POST', '/v1/customers', {
      token: 'sk_test_x',
      headers: { 'content-type': 'text/plain' },
      body: 'email=a@b.c',
    })

    assert.equal(status, 415)
    assert.match(body.error.message, /application\/x-www-form-urlencoded/)
  })

  test('lists events by a group of types, and refuses a type beside types', async (t) => {
    const { stripe } = await startSandbox(t)
    const { id } = await stripe.customers.create({ name: 'Ada' })
    await stripe.customers.del(id)

    const group = await stripe.events.list({ type: 'customer.*' })
    const none = await stripe.events.list({ type: 'refund.*' })
    const both = stripe.events.list({ type: 'customer.created', types: ['customer.deleted'] })

    assert.deepEqual(
      group.data.map(({ type }) => type),
      ['customer.deleted', 'customer.created'],
    )
    assert.equal(none.data.length, 0)
    await assert.rejects(both, { statusCode: 400, param: 'types' })
  })

  test('expands along a path, even through a list, and says what cannot be expanded', async (t) => {
    const sandbox = await startSandbox(t)
    await paidOrder(sandbox)

    const page = await sandbox.stripe.checkout.sessions.list({
      expand: ['data.payment_intent.latest_charge.balance_transaction', 'data.line_items'],
    })
    const wrong = sandbox.stripe.checkout.sessions.list({ expand: ['data.colour'] })

    const [session] = page.data
    const intent = session?.payment_intent as Stripe.PaymentIntent
    const charge = intent.latest_charge as Stripe.Charge
    assert.equal((charge.balance_transaction as Stripe.BalanceTransaction).net, 1000)
    assert.equal(session?.line_items?.data.length, 1)
    await assert.rejects(wrong, { statusCode: 400, param: 'expand' })
  })

  test('pages through the line items of a session, in their order', async (t) => {
    const { stripe } = await startSandbox(t)
    const items = ['a', 'b', 'c'].map((name) => ({
      quantity: 1,
      price_data: { currency: 'usd', unit_amount: 500, product_data: { name } },
    }))
    const { id } = await stripe.checkout.sessions.create(orderOf(1, { line_items: items }))
    const list = async (page: Stripe.Checkout.SessionListLineItemsParams) => {
      const { data, has_more } = await stripe.checkout.sessions.listLineItems(id, page)
      return [data.map(({ description }) => description).join(''), has_more]
    }
    const [first, , last] = (await stripe.checkout.sessions.listLineItems(id)).data

    assert.deepEqual(await list({}), ['abc', false])
    assert.deepEqual(await list({ limit: 2 }), ['ab', true])
    assert.deepEqual(await list({ starting_after: first?.id }), ['bc', false])
    assert.deepEqual(await list({ limit: 1, starting_after: first?.id }), ['b', true])
    assert.deepEqual(await list({ limit: 1, ending_before: last?.id }), ['b', true])
    await assert.rejects(list({ starting_after: 'nope' }), {
      statusCode: 400,
      param: 'starting_after',
    })
  })

  test('pages through everything, as the client does by itself', async (t) => {
    const { stripe } = await startSandbox(t)
    for (let n = 0; n < 7; n++) await stripe.customers.create({ name: `c${n}` })

    const names: string[] = []
    for await (const customer of stripe.customers.list({ limit: 3 }))
      names.push(customer.name ?? '')

    assert.deepEqual(names, ['c6', 'c5', 'c4', 'c3', 'c2', 'c1', 'c0'])
    await assert.rejects(stripe.customers.list({ starting_after: 'cus_x' }), { statusCode: 400 })
    await assert.rejects(stripe.customers.list({ limit: 101 }), { statusCode: 400 })
  })

  test('does not list deleted objects', async (t) => {
    const { stripe } = await startSandbox(t)
    const kept = await stripe.customers.create({})
    const gone = await stripe.customers.create({})
    await stripe.customers.del(gone.id)

    const listed = await stripe.customers.list()

    assert.deepEqual(
      listed.data.map(({ id }) => id),
      [kept.id],
    )
  })

  test('finds sessions by state, by payment and by creation time', async (t) => {
    const sandbox = await startSandbox(t)
    const { session, intent } = await paidOrder(sandbox)
    sandbox.clock.advance(10)
    const open = await sandbox.stripe.checkout.sessions.create(orderOf(500))
    const ids = async (filter: object) => {
      const page = await sandbox.stripe.checkout.sessions.list(filter)
      return page.data.map(({ id }) => id)
    }

    assert.deepEqual(await ids({ status: 'open' }), [open.id])
    assert.deepEqual(await ids({ payment_intent: intent }), [session])
    assert.deepEqual(await ids({ created: { lt: open.created } }), [session])
    assert.deepEqual(await ids({ created: open.created }), [open.id])
  })

  test('keeps events for thirty days', async (t) => {
    const { stripe, api } = await startSandbox(t)
    await stripe.customers.create({})
    const day = 86_400

    await api.post('/sandbox/api/clock/advance', { seconds: 30 * day })
    const last = await stripe.events.list()
    await api.post('/sandbox/api/clock/advance', { seconds: 1 })

    assert.equal(last.data.length, 1)
    assert.equal((await stripe.events.list()).data.length, 0)
  })

  test('enforces minimum and maximum amounts when the switch is on', async (t) => {
    const { stripe, api } = await startSandbox(t)
    assert.ok(await stripe.checkout.sessions.create(orderOf(1)))

    await api.patch('/sandbox/api/switches', { amountLimits: true })

    const create = (amount: number, currency?: string) =>
      stripe.checkout.sessions.create(orderOf(amount, {}, currency))
    await assert.rejects(create(49), { code: 'amount_too_small' })
    await assert.rejects(create(100_000_000), { code: 'amount_too_large' })
    await assert.rejects(create(49, 'jpy'), { code: 'amount_too_small' })
    assert.ok(await create(50))
  })

  test('gives the same ids for the same seed and the same calls', async (t) => {
    const idsOf = async (seed: string) => {
      const sandbox = await startSandbox(t, { SANDBOX_SEED: seed })
      const { session, intent } = await paidOrder(sandbox)
      const refund = await sandbox.stripe.refunds.create({ payment_intent: intent })
      const events = await sandbox.stripe.events.list()
      return [session, intent, refund.id, ...events.data.map(({ id }) => id)]
    }

    assert.deepEqual(await idsOf('a'), await idsOf('a'))
    assert.notDeepEqual(await idsOf('a'), await idsOf('b'))
  })
})
