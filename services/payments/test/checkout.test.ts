import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from './shared.ts'
import { checkoutBody, startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

const UUID = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

for (const engine of engines)
  describe(`POST /api/checkout/sessions on ${engine.name}`, engine.options, () => {
    const start = async (t: { after(work: () => void): void }) =>
      startLoop(t, { databaseUrl: await engine.freshUrl(t) })

    test('creates a hosted checkout and a pending payment', async (t) => {
      const { checkOut, payment, sandbox } = await start(t)

      const reply = await checkOut({ currency: 'EUR', businessReference: 'b1' })

      assert.equal(reply.status, 201)
      assert.deepEqual(Object.keys(reply.body), ['paymentId', 'checkoutSessionId', 'checkoutUrl'])
      assert.match(reply.body.paymentId, UUID)
      assert.match(reply.body.checkoutUrl, /^http/)
      const { createdAt, updatedAt, ...shown } = await payment(reply.body.paymentId)
      assert.deepEqual(shown, {
        id: reply.body.paymentId,
        businessReference: 'b1',
        providerCustomerId: null,
        providerCheckoutSessionId: reply.body.checkoutSessionId,
        providerPaymentIntentId: null,
        checkoutAttemptReference: 'attempt-1',
        checkoutStatus: 'OPEN',
        amount: 1000,
        refundedAmount: 0,
        currency: 'eur',
        status: 'PENDING',
      })
      assert.match(`${createdAt} ${updatedAt}`, /^\S+T\S+\.\d{3}Z \S+T\S+\.\d{3}Z$/)
      const [session] = await sandbox.sessions()
      assert.equal(session.currency, 'eur')
      assert.equal(session.metadata.paymentId, reply.body.paymentId)
      assert.equal(session.metadata.businessReference, 'b1')
      assert.equal(session.client_reference_id, 'b1')
    })

    test('accepts the example of the API document', async (t) => {
      const { api } = await start(t)
      const { paths } = (await api.get('/openapi.json')).body
      const { post } = paths['/api/checkout/sessions']

      const { example } = post.requestBody.content['application/json']

      assert.equal((await api.post('/api/checkout/sessions', example)).status, 201)
    })

    test('gives payments ids that sort by creation time', async (t) => {
      const { checkOut } = await start(t)

      const first = await checkOut({ businessReference: 'b1' })
      const second = await checkOut({ businessReference: 'b2' })

      assert.ok(first.body.paymentId < second.body.paymentId)
    })

    test('is PAID and COMPLETE when the customer has paid', async (t) => {
      const { paid, payment } = await start(t)

      const { paymentId } = await paid()

      const shown = await payment(paymentId)
      assert.equal(shown.status, 'PAID')
      assert.equal(shown.checkoutStatus, 'COMPLETE')
      assert.match(shown.providerPaymentIntentId, /^pi_/)
    })

    test('sends the customer to the return pages of the request, only at allowed origins', async (t) => {
      const { checkOut, sandbox } = await startLoop(t, {
        databaseUrl: await engine.freshUrl(t),
        overrides: { returnOrigins: ['https://shop.example'], production: true },
      })
      const successUrl = 'https://shop.example/thanks?order=1'

      const reply = await checkOut({ successUrl, businessReference: 'own page' })

      assert.equal(reply.status, 201)
      const [session] = await sandbox.sessions()
      assert.equal(session.success_url, successUrl)
      assert.ok(session.cancel_url.endsWith(`?checkout=cancelled&payment=${reply.body.paymentId}`))
      for (const other of [
        'https://shop.example.evil.example/',
        'https://shop.example@evil.example/',
        'https://user@shop.example/',
        'https://shop.example\\@evil.example/',
        'https://shop.example\t@evil.example/',
        'https://shop.example/thanks\r\nX-Header: 1',
        'https:shop.example/thanks',
        'http://shop.example/',
        'http://localhost:3000/',
        'javascript:alert(1)//shop.example',
        '/thanks',
      ]) {
        const refusals = [
          await checkOut({ successUrl: other, businessReference: other }),
          await checkOut({ cancelUrl: other, businessReference: other }),
        ]
        for (const { status, body } of refusals)
          assert.deepEqual([status, body.code], [400, 'RETURN_URL_NOT_ALLOWED'], other)
      }
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('returns the same session for the same request', async (t) => {
      const { checkOut } = await start(t)
      const request = { businessReference: 'same' }

      const first = await checkOut(request)
      const second = await checkOut(request)

      assert.equal(second.status, 201)
      assert.deepEqual(second.body, first.body)
    })

    test('returns the open session whatever attempt reference is sent', async (t) => {
      const { checkOut, sandbox } = await start(t)

      const first = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      const second = await checkOut({ businessReference: 'b', attemptReference: 'two' })

      assert.equal(second.status, 201)
      assert.deepEqual(second.body, first.body)
      assert.equal((await sandbox.sessions()).length, 1)
    })

    test('is 409 when the business reference is reused with a different amount', async (t) => {
      const { checkOut } = await start(t)
      await checkOut({ businessReference: 'b' })

      const reply = await checkOut({ businessReference: 'b', amount: 1001 })

      assert.equal(reply.status, 409)
      assert.equal(reply.body.title, 'Request conflict')
    })

    test('is 409 when the business reference is reused with a different currency', async (t) => {
      const { checkOut } = await start(t)
      await checkOut({ businessReference: 'b' })

      assert.equal((await checkOut({ businessReference: 'b', currency: 'usd' })).status, 409)
      assert.equal((await checkOut({ businessReference: 'b', currency: 'EUR' })).status, 201)
    })

    test('is 409 when the payment is already settled', async (t) => {
      const { checkOut, paid, refund } = await start(t)
      const { paymentId } = await paid({ businessReference: 'b' })

      const settled = await checkOut({ businessReference: 'b', attemptReference: 'new' })
      await refund(paymentId, { reference: 'r' })
      const refunded = await checkOut({ businessReference: 'b', attemptReference: 'newer' })

      assert.equal(settled.status, 409)
      assert.equal(settled.body.code, 'PAYMENT_ALREADY_SETTLED')
      assert.equal(refunded.status, 409)
    })

    test('is 409 while an attempt is still processing', async (t) => {
      const { checkOut, sandbox, payment } = await start(t)
      const { body } = await checkOut({ businessReference: 'b' })
      await sandbox.debit(body.checkoutSessionId)
      await sandbox.flush()

      const reply = await checkOut({ businessReference: 'b', attemptReference: 'new' })

      assert.equal(reply.status, 409)
      assert.equal(reply.body.code, 'CHECKOUT_PROCESSING')
      const shown = await payment(body.paymentId)
      assert.equal(`${shown.status}/${shown.checkoutStatus}`, 'PENDING/COMPLETE')
    })

    test('is 409 when the attempt reference was used by an expired attempt', async (t) => {
      const { checkOut, sandbox, payment } = await start(t)
      const { body } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      await sandbox.expire(body.checkoutSessionId)
      await sandbox.flush()
      const expired = await payment(body.paymentId)

      const same = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      const other = await checkOut({ businessReference: 'b', attemptReference: 'two' })

      assert.equal(`${expired.status}/${expired.checkoutStatus}`, 'PENDING/EXPIRED')
      assert.equal(same.status, 409)
      assert.equal(same.body.code, 'ATTEMPT_REFERENCE_REUSED')
      assert.equal(other.status, 201)
      assert.notEqual(other.body.checkoutSessionId, body.checkoutSessionId)
      assert.equal(other.body.paymentId, body.paymentId)
    })

    test('is 409 when the attempt reference was used by a failed attempt', async (t) => {
      const { checkOut, sandbox, payment } = await start(t)
      const { body } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      await sandbox.debit(body.checkoutSessionId)
      await sandbox.fail(body.checkoutSessionId)
      await sandbox.flush()
      const failed = await payment(body.paymentId)

      const same = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      const other = await checkOut({ businessReference: 'b', attemptReference: 'two' })

      assert.equal(`${failed.status}/${failed.checkoutStatus}`, 'FAILED/COMPLETE')
      assert.equal(same.status, 409)
      assert.equal(other.status, 201)
      const reopened = await payment(body.paymentId)
      assert.equal(`${reopened.status}/${reopened.checkoutStatus}`, 'PENDING/OPEN')
      assert.equal(reopened.providerPaymentIntentId, null)
    })

    test('counts a failed payment once when its second attempt is refused', async (t) => {
      const { checkOut, sandbox, payment, counted } = await start(t)
      const { body } = await checkOut({ businessReference: 'b', attemptReference: 'one' })
      await sandbox.debit(body.checkoutSessionId)
      await sandbox.fail(body.checkoutSessionId)
      await sandbox.flush()

      const refused = await checkOut({
        businessReference: 'b',
        attemptReference: 'two',
        providerCustomerId: 'cus_unknown',
      })

      assert.equal(refused.status, 400)
      assert.equal((await payment(body.paymentId)).status, 'FAILED')
      assert.equal((await counted()).FAILED, 1)
    })

    test('is 409 for the reference of an older attempt after two have expired', async (t) => {
      const { checkOut, sandbox } = await start(t)
      for (const attemptReference of ['one', 'two']) {
        const { body } = await checkOut({ businessReference: 'b', attemptReference })
        await sandbox.expire(body.checkoutSessionId)
      }

      const reply = await checkOut({ businessReference: 'b', attemptReference: 'one' })

      assert.equal(reply.status, 409)
    })

    test('keeps references apart that differ only in blanks, accents or emoji', async (t) => {
      const { checkOut, sandbox } = await start(t)
      const references = ['r', ' r', 'r\r\n', 'ré', 'r\u0301', '🪑', '🪑🪑']

      for (const attemptReference of references) {
        const { status, body } = await checkOut({ businessReference: '🧾', attemptReference })
        assert.equal(status, 201, attemptReference)
        await sandbox.expire(body.checkoutSessionId)
      }

      assert.equal((await sandbox.sessions()).length, references.length)
    })

    test('prefers the customer id to the e-mail address', async (t) => {
      const { api, checkOut, payment, sandbox } = await start(t)
      const customer = (await api.post('/api/customers', { email: 'a@localhost' })).body

      const { body } = await checkOut({
        providerCustomerId: customer.id,
        customerEmail: 'b@localhost',
      })

      const [session] = await sandbox.sessions()
      assert.equal(session.customer, customer.id)
      assert.equal((await payment(body.paymentId)).providerCustomerId, customer.id)
    })

    test('overwrites metadata entries of the same name with its own', async (t) => {
      const { checkOut, sandbox } = await start(t)

      const { body } = await checkOut({
        businessReference: 'mine',
        metadata: { paymentId: 'theirs', businessReference: 'theirs', note: 'kept' },
      })

      const [session] = await sandbox.sessions()
      assert.deepEqual(session.metadata, {
        note: 'kept',
        paymentId: body.paymentId,
        businessReference: 'mine',
      })
    })
  })

for (const engine of engines)
  describe(`the checkout request on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { webhooks: false, databaseUrl: await engine.freshUrl(scope) }),
    )
    const many = (count: number, value: unknown = 'v') =>
      Object.fromEntries(Array.from({ length: count }, (_, index) => [`key-${index}`, value]))
    const REFUSED: [string, object][] = [
      ['amount 0', { amount: 0 }],
      ['a negative amount', { amount: -1 }],
      ['a fraction', { amount: 1.5 }],
      ['an amount that is text', { amount: '1000' }],
      ['an amount of null', { amount: null }],
      ['no amount', { amount: undefined }],
      ['an amount beyond the safe integers', { amount: 2 ** 53 }],
      ['a currency of two letters', { currency: 'EU' }],
      ['a currency with a digit', { currency: 'E1R' }],
      ['a currency with an umlaut', { currency: 'ÜSD' }],
      ['a blank description', { description: ' ' }],
      ['a description of 256 characters', { description: 'd'.repeat(256) }],
      ['a blank business reference', { businessReference: '\t' }],
      ['a business reference of 101 characters', { businessReference: 'b'.repeat(101) }],
      ['a business reference with NUL', { businessReference: 'a\u0000b' }],
      ['a lone surrogate in a business reference', { businessReference: 'a\ud800' }],
      ['a lone surrogate in an attempt reference', { attemptReference: '\udc00' }],
      ['a lone surrogate in a description', { description: 'a\ud800' }],
      ['a lone surrogate in a customer id', { providerCustomerId: 'a\ud800' }],
      ['a customer id with NUL', { providerCustomerId: 'cus\u0000' }],
      ['a lone surrogate in a metadata value', { metadata: { k: '\ud800' } }],
      ['a lone surrogate in a metadata key', { metadata: { '\ud800': 'v' } }],
      ['an attempt reference of 101 characters', { attemptReference: 'a'.repeat(101) }],
      ['no attempt reference', { attemptReference: undefined }],
      ['an e-mail address without @', { customerEmail: 'nobody' }],
      ['an e-mail address of 255 characters', { customerEmail: `${'e'.repeat(250)}@a.de` }],
      ['a customer id of 256 characters', { providerCustomerId: 'c'.repeat(256) }],
      ['49 metadata entries', { metadata: many(49) }],
      ['5,000 metadata entries that are not text', { metadata: many(5000, 1) }],
      ['a metadata key of 41 characters', { metadata: { ['k'.repeat(41)]: 'v' } }],
      ['an empty metadata key', { metadata: { '': 'v' } }],
      ['a metadata key with brackets', { metadata: { 'a[b]': 'v' } }],
      ['a metadata value of 501 characters', { metadata: { k: 'v'.repeat(501) } }],
      ['a metadata value that is a number', { metadata: { k: 1 } }],
    ]
    for (const [name, request] of REFUSED)
      test(`is 400 for ${name}`, async () => {
        const { checkOut } = loop()

        const reply = await checkOut(request)

        assert.equal(reply.status, 400)
        assert.equal(reply.body.title, 'Validation failed')
        assert.equal(reply.body.errors.length, 1, JSON.stringify(reply.body.errors))
      })

    test('with a reference of 100 kB is refused quickly', async () => {
      const { checkOut } = loop()
      const started = performance.now()

      const reply = await checkOut({ businessReference: `${'a'.repeat(100_000)}\u0000` })

      assert.equal(reply.status, 400)
      assert.ok(performance.now() - started < 5000)
    })

    test('is answered with all faulty fields at once', async () => {
      const { api } = loop()

      const { body } = await api.post('/api/checkout/sessions', { amount: 0, currency: 'x' })

      assert.deepEqual(body.errors.map((error: string) => error.split(':')[0]).sort(), [
        'amount',
        'attemptReference',
        'businessReference',
        'currency',
        'description',
      ])
    })

    test('may reach every limit, and blank optional fields count as absent', async () => {
      const { checkOut } = loop()

      const full = await checkOut({
        description: 'd'.repeat(255),
        businessReference: 'b'.repeat(100),
        attemptReference: 'a'.repeat(100),
        customerEmail: `${'e'.repeat(60)}@${'d'.repeat(193)}`,
        metadata: { ...many(47), ['k'.repeat(40)]: 'v'.repeat(500) },
      })
      const drawn = await checkOut({
        description: '🪑'.repeat(255),
        attemptReference: '🧾'.repeat(100),
        metadata: { ['🔑'.repeat(40)]: '🧾'.repeat(500) },
      })
      const blank = await checkOut({ customerEmail: ' ', providerCustomerId: '', metadata: null })

      assert.equal(full.status, 201, JSON.stringify(full.body))
      assert.equal(drawn.status, 201, JSON.stringify(drawn.body))
      assert.equal(blank.status, 201, JSON.stringify(blank.body))
    })

    test('is 400 for a customer the provider does not know', async () => {
      const { checkOut, api } = loop()

      const businessReference = 'unknown-customer'

      const reply = await checkOut({ providerCustomerId: 'cus_unknown', businessReference })

      assert.equal(reply.status, 400)
      assert.equal(reply.body.title, 'Invalid request')
      assert.equal((await checkOut({ businessReference, amount: 7777 })).status, 201)
      const path = `/api/payments?businessReference=${businessReference}`
      assert.equal((await api.get(path)).body.totalElements, 1)
    })

    test('is 400 when it is not JSON, 415 for another content type, 413 over 1 MiB', async () => {
      const { api } = loop()
      const send = (body: string, type = 'application/json') =>
        api.request('POST', '/api/checkout/sessions', { body, headers: { 'content-type': type } })

      assert.equal((await send('{')).status, 400)
      assert.equal((await send('')).status, 400)
      assert.equal((await send('[]')).status, 400)
      assert.equal((await send('{"amount":1e400}')).status, 400)
      assert.equal((await send('{}', 'text/plain')).status, 415)
      assert.equal(
        (await send(JSON.stringify(checkoutBody({ x: 'x'.repeat(2 ** 20) })))).status,
        413,
      )
    })
  })
