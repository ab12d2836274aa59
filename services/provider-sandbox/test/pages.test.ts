import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type Stripe from 'stripe'
import { CANCEL_URL, orderOf } from './orders.ts'
import { startSandbox } from './start-sandbox.ts'

const FORM = { 'content-type': 'application/x-www-form-urlencoded' }

async function startCheckout(
  t: TestContext,
  order: Stripe.Checkout.SessionCreateParams = orderOf(1050),
) {
  const sandbox = await startSandbox(t)
  const { id } = await sandbox.stripe.checkout.sessions.create(order)
  const post = (path: string, fields: Record<string, string> = {}, headers = {}) =>
    sandbox.api.request('POST', path, {
      headers: { ...FORM, ...headers },
      body: new URLSearchParams(fields).toString(),
    })
  const pay = (number: string) => post(`/pay/${id}/card`, { number, expiry: '12 / 60', cvc: '123' })
  const read = async () => (await sandbox.api.get(`/pay/${id}`)).body as string
  const after = `http://localhost:9/success?session=${id}`
  return { ...sandbox, id, post, pay, read, after }
}

describe('the hosted page', () => {
  test('says what is being paid for, and that no money moves', async (t) => {
    const { api, id } = await startCheckout(t)

    const page = await api.get(`/pay/${id}`)

    const policy = page.headers.get('content-security-policy') ?? ''
    assert.equal(page.status, 200)
    assert.match(page.body, /<h1>Pay \$10\.50<\/h1>/)
    assert.match(page.body, /A book/)
    assert.match(page.body, /SANDBOX/)
    assert.ok(page.body.includes(CANCEL_URL))
    assert.match(policy, /default-src 'none'/)
    assert.match(policy, /form-action 'self' http:\/\/localhost:9$/)
    assert.doesNotMatch(page.body, /<script|style=/)
  })

  test('lets its form go back to an address that browsers do not accept in a policy', async (t) => {
    const { api, id } = await startCheckout(t, { ...orderOf(1050), success_url: 'http://[::1]:9/' })

    const { headers } = await api.get(`/pay/${id}`)

    assert.match(headers.get('content-security-policy') ?? '', /form-action 'self' http:( |$)/)
  })

  for (const [currency, amount, shown] of [
    ['jpy', 1050, '¥1,050'],
    ['kwd', 10_500, 'KWD&nbsp;10.500'],
    ['eur', 1050, '€10.50'],
    ['isk', 10_500, 'ISK&nbsp;105.00'],
  ] as const)
    test(`shows ${amount} ${currency} as ${shown}`, async (t) => {
      const { read } = await startCheckout(t, orderOf(amount, {}, currency))

      assert.match(
        (await read()).replaceAll('\u00a0', '&nbsp;'),
        new RegExp(`<h1>Pay ${shown}</h1>`),
      )
    })

  test('escapes text from the shop', async (t) => {
    const order = orderOf(1000)
    const item = { name: '<script>alert(1)</script>' }
    const price_data = { currency: 'usd', unit_amount: 1000, product_data: item }

    const { read } = await startCheckout(t, { ...order, line_items: [{ quantity: 2, price_data }] })

    assert.match(await read(), /&lt;script&gt;alert\(1\)&lt;\/script&gt; × 2/)
  })

  test('leads back to the shop once paid, even when it is submitted again', async (t) => {
    const { pay, after, read, stripe } = await startCheckout(t)

    const [first, second] = await Promise.all([
      pay('4242 4242 4242 4242'),
      pay('4242 4242 4242 4242'),
    ])

    assert.deepEqual([first.status, second.status], [303, 303])
    assert.equal(first.headers.get('location'), after)
    assert.equal(second.headers.get('location'), after)
    assert.equal((await stripe.charges.list()).data.length, 1)
    assert.match(await read(), /This has been paid/)
  })

  test('leads back to an address with characters that a header cannot carry', async (t) => {
    const { pay } = await startCheckout(
      t,
      orderOf(1050, { success_url: 'http://localhost:9/danke/✓?name=Zoë' }),
    )

    const { status, headers } = await pay('4242424242424242')

    assert.equal(status, 303)
    assert.equal(headers.get('location'), 'http://localhost:9/danke/%E2%9C%93?name=Zo%C3%AB')
  })

  test('says that a bank debit is on its way, and later that it failed', async (t) => {
    const { api, post, read, id } = await startCheckout(t)

    await post(`/pay/${id}/bank`, { account: '000111111113' })
    const before = await read()
    await api.post('/sandbox/api/clock/advance', { seconds: 86_400 })

    assert.match(before, /The payment is on its way/)
    assert.match(await read(), /The bank debit has failed.*Nothing was paid/s)
  })

  test('says why a card was declined and lets the customer try again', async (t) => {
    const { pay, read, id, after } = await startCheckout(t)

    const declined = await pay('4000000000000002')
    const page = await read()
    const paid = await pay('5555555555554444')

    assert.equal(declined.headers.get('location'), `/pay/${id}`)
    assert.match(page, /role="alert".*Your card was declined\./)
    assert.equal(paid.headers.get('location'), after)
  })

  for (const [number, message] of [
    ['4242424242424241', 'Your card number is incorrect.'],
    ['4111111111111111', 'test cards only'],
  ] as const)
    test(`declines ${number}: ${message}`, async (t) => {
      const { pay, read } = await startCheckout(t)

      await pay(number)

      assert.ok((await read()).includes(message))
    })

  test('declines a card that has expired', async (t) => {
    const { post, read, id } = await startCheckout(t)

    await post(`/pay/${id}/card`, { number: '4242424242424242', expiry: '12/29', cvc: '123' })

    assert.match(await read(), /Your card has expired/)
  })

  test('declines a card whose month does not exist', async (t) => {
    const { post, stripe, id } = await startCheckout(t)

    for (const expiry of ['13/60', '00/60'])
      await post(`/pay/${id}/card`, { number: '4242424242424242', expiry, cvc: '123' })

    assert.equal((await stripe.checkout.sessions.retrieve(id)).status, 'open')
  })

  test('lets the bank ask for confirmation first', async (t) => {
    const { pay, read, post, id, after } = await startCheckout(t)

    await pay('4000002500003155')
    const asking = await read()
    const refused = await post(`/pay/${id}/challenge`, { accepted: 'false' })
    await pay('4000002500003155')
    const confirmed = await post(`/pay/${id}/challenge`, { accepted: 'true' })

    assert.match(asking, /Is it you\?/)
    assert.equal(refused.headers.get('location'), `/pay/${id}`)
    assert.equal(confirmed.headers.get('location'), after)
  })

  test('accepts a bank debit, which settles later', async (t) => {
    const { post, read, id, after } = await startCheckout(t)

    const taken = await post(`/pay/${id}/bank`, { account: '000123456789' })

    assert.equal(taken.headers.get('location'), after)
    assert.match(await read(), /The payment is on its way/)
  })

  test('can be left to expire', async (t) => {
    const { post, read, pay, id, stripe } = await startCheckout(t)

    await post(`/pay/${id}/expire`)
    const late = await pay('4242424242424242')

    assert.match(await read(), /This checkout has expired/)
    assert.equal(late.headers.get('location'), `/pay/${id}`)
    assert.equal((await stripe.charges.list()).data.length, 0)
  })

  test('of an unknown session is 404', async (t) => {
    const { api } = await startSandbox(t)

    assert.equal((await api.get('/pay/cs_test_x')).status, 404)
  })

  test('refuses requests from other sites', async (t) => {
    const { post, id, read } = await startCheckout(t)
    const fields = { number: '4242424242424242', expiry: '12/60' }

    const byFetch = await post(`/pay/${id}/card`, fields, { 'sec-fetch-site': 'cross-site' })
    const byOrigin = await post(`/pay/${id}/card`, fields, { origin: 'http://evil.example' })

    assert.deepEqual([byFetch.status, byOrigin.status], [403, 403])
    assert.match(await read(), /Pay \$10\.50/)
  })
})

describe('the page with the controls', () => {
  test('is at /sandbox, and the root leads to it', async (t) => {
    const { api } = await startSandbox(t)

    const root = await api.get('/', { headers: { accept: 'text/html' } })
    const short = await api.get('/sandbox')
    const page = await api.get('/sandbox/')

    assert.deepEqual([root.status, root.headers.get('location')], [302, '/sandbox/'])
    assert.deepEqual([short.status, short.headers.get('location')], [302, '/sandbox/index.html'])
    assert.equal(page.status, 200)
    assert.match(page.body, /<title>Sandbox provider/)
  })

  test('runs no code but its own, frames nothing and sends no form', async (t) => {
    const { api } = await startSandbox(t)

    const { headers, body } = await api.get('/sandbox/index.html')

    const policy = headers.get('content-security-policy') ?? ''
    assert.match(policy, /default-src 'none'; script-src 'self'; style-src 'self'/)
    for (const rule of ["connect-src 'self'", "form-action 'none'", "frame-ancestors 'none'"])
      assert.ok(policy.includes(rule), rule)
    assert.doesNotMatch(policy, /unsafe|\*/)
    assert.doesNotMatch(body, /<script>|style=/)
  })

  test('shares its style with the hosted page', async (t) => {
    const { api, read } = await startCheckout(t)

    assert.match(await read(), /<link rel="stylesheet" href="\/sandbox\/page\.css">/)
    for (const file of ['page.js', 'page.css'])
      assert.equal((await api.get(`/sandbox/${file}`)).status, 200, file)
  })
})

describe('the controls behind the page', () => {
  test('show everything', async (t) => {
    const { api, id, stripe } = await startCheckout(t)
    const { body } = await api.post(`/sandbox/api/sessions/${id}/pay`)
    const refund = await stripe.refunds.create({ payment_intent: body.session.payment_intent })
    await api.post('/sandbox/api/faults', { kind: 'hang', route: 'POST /v1/refunds' })

    const read = async (control: string) => (await api.get(`/sandbox/api/${control}`)).body

    assert.deepEqual((await read('sessions'))[0].id, id)
    assert.deepEqual((await read('refunds'))[0].id, refund.id)
    assert.equal((await read('faults')).faults[0].route, 'POST /v1/refunds')
    assert.equal((await read('books')).totals.usd.captured, 1050)
    assert.equal((await read('clock')).now, '2030-01-01T00:00:00.000Z')
  })

  test('settle a bank debit, move the clock, and add and remove a fault', async (t) => {
    const { id, api, stripe } = await startCheckout(t)

    await api.post(`/sandbox/api/sessions/${id}/bank-debit`)
    await api.post(`/sandbox/api/sessions/${id}/settle`)
    await api.post('/sandbox/api/clock/advance', { seconds: 7200 })
    const outage = { kind: 'outage', route: '*', times: 3, probability: 0.5 }
    const { body: fault } = await api.post('/sandbox/api/faults', outage)

    const { body } = await api.get('/sandbox/api/faults')
    assert.equal(body.faults[0].remaining, 3)
    assert.equal(body.faults[0].probability, 0.5)
    assert.equal((await api.delete(`/sandbox/api/faults/${fault.id}`)).status, 204)
    assert.equal((await stripe.checkout.sessions.retrieve(id)).payment_status, 'paid')
    assert.equal((await api.get('/sandbox/api/clock')).body.offsetSeconds, 7200)
  })

  test('set the switches', async (t) => {
    const { api } = await startSandbox(t)
    const switches = {
      paused: true,
      drop: ['customer.created', 'charge.failed'],
      delaySeconds: 5,
      duplicates: 1,
      reorder: 2,
      eventSecond: 1_893_456_000,
      signWith: 'both',
      refunds: 'pending',
      amountLimits: true,
    }

    await api.patch('/sandbox/api/switches', switches)

    const { body } = await api.get('/sandbox/api/switches')
    assert.deepEqual(body, { ...switches, apiVersion: null })
  })

  test('report errors', async (t) => {
    const { id, api } = await startCheckout(t)
    await api.post(`/sandbox/api/sessions/${id}/pay`)

    const again = await api.post(`/sandbox/api/sessions/${id}/pay`)
    const nonsense = await api.post('/sandbox/api/clock/advance', { seconds: 'much' })
    const empty = await api.put('/sandbox/api/scenario', {})
    const unknown = await api.post('/sandbox/api/dance')

    assert.equal(again.status, 400)
    assert.match(again.body.detail, /Only Checkout Sessions/)
    assert.match(nonsense.body.errors[0], /^seconds: /)
    assert.match(empty.body.errors.join(), /plinthSandbox/)
    assert.equal(unknown.status, 404)
  })

  test('show each attempt of a delivery', async (t) => {
    const { api, stripe } = await startSandbox(t)
    const endpoint = { url: 'http://127.0.0.1:1/', secret: 'whsec_x' }
    await api.post('/sandbox/api/webhook-endpoints', endpoint)
    await stripe.customers.create({ name: 'Jenny' })

    const { body: deliveries } = await api.post('/sandbox/api/deliveries/flush')

    const [{ request, error }] = deliveries[0].attempts
    assert.match(request.headers['provider-signature'], /^t=/)
    assert.match(request.body, /Jenny/)
    assert.ok(error)
  })

  test('refuse requests from other sites', async (t) => {
    const { api, id, stripe } = await startCheckout(t)
    const pay = (headers: Record<string, string>) =>
      api.request('POST', `/sandbox/api/sessions/${id}/pay`, { headers })
    const reset = (headers: Record<string, string>) =>
      api.request('POST', '/sandbox/api/reset', { headers })

    const foreign = { 'sec-fetch-site': 'cross-site' }
    const replies = [
      await pay(foreign),
      await reset(foreign),
      await pay({ origin: 'http://evil.example' }),
      await api.request('DELETE', '/sandbox/api/faults', { headers: foreign }),
    ]
    const ours = await pay({ 'sec-fetch-site': 'same-origin' })

    assert.deepEqual(
      replies.map(({ status }) => status),
      [403, 403, 403, 403],
    )
    assert.equal(ours.status, 200)
    assert.equal((await stripe.checkout.sessions.retrieve(id)).payment_status, 'paid')
  })
})
