import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { shared } from './shared.ts'
import { startLoop } from './start-loop.ts'
import { engines } from './start-payments.ts'

/** An amount of each kind of currency: zero, two and three decimals, and the special cases. */
const AMOUNTS: [currency: string, amount: number, part: number][] = [
  ['eur', 1999, 1],
  ['usd', 99_999_999, 33_333_333],
  ['jpy', 50, 7],
  ['krw', 1_000_001, 1_000_000],
  ['kwd', 12_340, 10],
  ['isk', 50_000, 100],
  ['eur', Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER - 1],
]

const TEXTS = [
  'Ein Stuhl für Ünal – „bequem“',
  'كرسي مريح',
  '椅子　🪑👩‍👩‍👧‍👦',
  'e\u0301 \u202e right to left \u200b',
  '<script>alert(1)</script> & "quotes" %00 \\u0000 \' ; --',
  'line\r\nbreak\ttab',
]

for (const engine of engines)
  describe(`at the edges on ${engine.name}`, engine.options, () => {
    const loop = shared(async (scope) =>
      startLoop(scope, { databaseUrl: await engine.freshUrl(scope) }),
    )

    for (const [currency, amount, part] of AMOUNTS)
      test(`${amount} ${currency} are paid and refunded to the last unit`, async () => {
        const { paid, payment, refund, sandbox } = loop()
        const { paymentId } = await paid({ currency: currency.toUpperCase(), amount })

        const first = await refund(paymentId, { reference: 'part', amount: part })
        const between = await payment(paymentId)
        const beyond = await refund(paymentId, { reference: 'more', amount: amount - part + 1 })
        const rest = await refund(paymentId, { reference: 'rest' })

        assert.deepEqual([first.status, first.body.currency], [201, currency])
        assert.deepEqual([between.refundedAmount, between.amount], [part, amount])
        assert.equal(beyond.status, 400)
        assert.equal(rest.body.amount, amount - part)
        const { status, refundedAmount } = await payment(paymentId)
        assert.deepEqual([status, refundedAmount], ['REFUNDED', amount])
        const { payments } = await sandbox.books()
        const book = payments.find(
          ({ metadata }: { metadata: { paymentId: string } }) => metadata.paymentId === paymentId,
        )
        assert.deepEqual([book.captured, book.refunded], [amount, amount])
      })

    for (const [index, text] of TEXTS.entries())
      test(`text of kind ${index} comes back unchanged`, async () => {
        const { api, checkOut, paid, refund, sandbox } = loop()
        const metadata = { [`näme ${index} 🪑`]: text }
        const words = { description: text, businessReference: text, attemptReference: text }

        const customer = await api.post('/api/customers', { email: 'a@b', name: text, metadata })
        const { paymentId, checkoutSessionId } = await paid({ ...words, metadata })
        const given = await refund(paymentId, { reference: text, amount: 1, metadata })
        const read = await api.get(`/api/refunds/${given.body.id}`)

        assert.equal(customer.status, 201, JSON.stringify(customer.body))
        assert.deepEqual([customer.body.name, customer.body.metadata], [text, metadata])
        const query = new URLSearchParams({ businessReference: text })
        const [shown] = (await api.get(`/api/payments?${query}`)).body.content
        assert.deepEqual([shown.id, shown.checkoutAttemptReference], [paymentId, text])
        const sessions = await sandbox.sessions()
        const session = sessions.find(({ id }: { id: string }) => id === checkoutSessionId)
        const ours = { businessReference: text, paymentId }
        assert.deepEqual(session.metadata, { ...metadata, ...ours })
        const expected = { ...metadata, businessReference: text, refundReference: text }
        assert.deepEqual(given.body.metadata, expected)
        assert.deepEqual(read.body.metadata, expected)
        assert.equal((await checkOut(words)).body.code, 'PAYMENT_ALREADY_SETTLED')
      })

    test('the state of a payment is checked before the amount of a refund', async () => {
      const { checkOut, paid, refund } = loop()
      const { body: open } = await checkOut()
      const { paymentId } = await paid()
      await refund(paymentId, { reference: 'all' })

      for (const id of [open.paymentId, paymentId]) {
        const reply = await refund(id, { reference: 'much', amount: 10 ** 9 })
        assert.deepEqual([reply.status, reply.body.code], [409, 'PAYMENT_NOT_REFUNDABLE'])
      }
      const invalid = await refund(open.paymentId, { reference: 'r', amount: 0 })
      assert.equal(invalid.status, 400)
    })

    test('a session that is still open cannot be refunded, and can still be paid afterwards', async () => {
      const { checkOut, payment, refund, sandbox } = loop()
      const { body } = await checkOut()

      const refused = await refund(body.paymentId, { reference: 'early' })
      await sandbox.pay(body.checkoutSessionId)
      await sandbox.flush()
      const accepted = await refund(body.paymentId, { reference: 'early' })

      assert.deepEqual([refused.status, accepted.status], [409, 201])
      assert.equal((await payment(body.paymentId)).status, 'REFUNDED')
    })

    test('a foreign session is not mistaken for the one being created', async () => {
      const { checkOut, deliver, payment, sandbox } = loop()
      await sandbox.fault({ kind: 'hold', route: 'POST /v1/checkout/sessions' })
      const creating = checkOut({ businessReference: 'ours' })
      await sandbox.struck()
      const object = { id: 'cs_theirs', status: 'expired', metadata: { businessReference: 'ours' } }
      const foreign = await deliver({
        id: 'evt_theirs',
        type: 'checkout.session.expired',
        data: { object },
      })
      await sandbox.release()
      const reply = await creating

      assert.equal(foreign.status, 200)
      assert.equal(reply.status, 201)
      assert.notEqual(reply.body.checkoutSessionId, 'cs_theirs')
      assert.equal((await payment(reply.body.paymentId)).checkoutStatus, 'OPEN')
    })

    test('an event of an unknown account changes nothing', async () => {
      const { api, deliver, paid, payment } = loop()
      const { paymentId } = await paid()
      const before = await payment(paymentId)
      const refund = { id: 're_theirs', amount: 5, currency: 'eur', status: 'succeeded' }
      const object = { ...refund, payment_intent: 'pi_theirs' }

      const reply = await deliver({
        id: 'evt_account',
        type: 'refund.created',
        account: 'acct_unknown',
        data: { object },
      })

      assert.deepEqual([reply.status, reply.body.status], [200, 'PROCESSED'])
      assert.deepEqual(await payment(paymentId), before)
      const inbox = (await api.get('/api/webhook-events?size=2000')).body.content
      const kept = inbox.find(({ id }: { id: string }) => id === 'evt_account')
      assert.equal(kept.paymentId, null)
    })

    test('out-of-range numbers in an event never become money', async () => {
      const { deliver, paid, payment } = loop()
      const { paymentId } = await paid()
      const { providerPaymentIntentId: payment_intent } = await payment(paymentId)
      const amounts = [-5, 0, 1.5, '5', 2 ** 53, null, 1e300]

      for (const [index, amount] of amounts.entries()) {
        const object = { id: `re_odd_${index}`, status: 'succeeded', amount, payment_intent }
        const id = `evt_odd_${index}`
        const reply = await deliver({ id, type: 'refund.created', data: { object } })
        assert.equal(reply.status, 400, String(amount))
      }
      const { status, refundedAmount } = await payment(paymentId)
      assert.deepEqual([status, refundedAmount], ['PAID', 0])
    })
    test('text in an event that no database could store counts as absent or is cut', async () => {
      const { api, deliver, paid, payment } = loop()
      const { paymentId } = await paid()
      const { providerPaymentIntentId: payment_intent } = await payment(paymentId)
      const session = { id: 'cs_odd', status: 'complete', payment_status: 'paid' }
      const refund = { amount: 1, currency: 'eur', status: 'succeeded', payment_intent }
      const odd: [type: string, object: object][] = [
        ['checkout.session.completed', { ...session, metadata: { businessReference: 'a\0b' } }],
        ['checkout.session.completed', { ...session, metadata: { paymentId: 'a\0b' } }],
        ['checkout.session.completed', { ...session, payment_intent: 'p'.repeat(256) }],
        ['payment_intent.succeeded', { id: 'pi\0' }],
        ['refund.created', { ...refund, id: 're_foreign', payment_intent: 'pi\0' }],
        ['refund.created', { ...refund, id: 're_nul', reason: 'a\0b' }],
        ['refund.created', { ...refund, id: 're_long', reason: 'a'.repeat(65) }],
        ['refund.created', { ...refund, id: 're_currency', currency: 'eurofighter' }],
      ]

      for (const [index, [type, object]] of odd.entries()) {
        const reply = await deliver({ id: `evt_text_${index}`, type, data: { object } })
        assert.deepEqual([reply.status, reply.body.status], [200, 'PROCESSED'], `${index}`)
      }

      assert.equal((await payment(paymentId)).refundedAmount, 3)
      const inbox = await api.get('/api/webhook-events?status=FAILED')
      assert.equal(inbox.body.totalElements, 0)
    })
  })
