import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type Stripe from 'stripe'
import { orderOf } from './orders.ts'

export type OpenStripe = (t: TestContext) => Promise<Stripe> | Stripe

const REFUSED: Record<string, [Stripe.Checkout.SessionCreateParams, object]> = {
  'an unknown parameter': [
    orderOf(500, { colour: 'red' } as Stripe.Checkout.SessionCreateParams),
    { code: 'parameter_unknown', param: 'colour', statusCode: 400 },
  ],
  'no line items': [orderOf(500, { line_items: undefined }), { statusCode: 400 }],
  'an unknown customer': [
    orderOf(500, { customer: 'cus_missing' }),
    { code: 'resource_missing', param: 'customer', statusCode: 400 },
  ],
  'an unknown currency': [orderOf(500, {}, 'xyz'), { statusCode: 400 }],
  'an end too near': [orderOf(500, { expires_at: 1 }), { statusCode: 400 }],
  'a three-decimal amount that is no multiple of ten': [
    orderOf(1001, {}, 'kwd'),
    { statusCode: 400 },
  ],
  'a wrong address': [
    orderOf(500, { success_url: 'nowhere' }),
    { code: 'url_invalid', param: 'success_url', statusCode: 400 },
  ],
  'a wrong e-mail': [
    orderOf(500, { customer_email: 'no-at-sign' }),
    { code: 'email_invalid', param: 'customer_email', statusCode: 400 },
  ],
  'a metadata value of 501 characters': [
    orderOf(500, { metadata: { note: 'x'.repeat(501) } }),
    { statusCode: 400 },
  ],
  'a metadata key of 41 characters': [
    orderOf(500, { metadata: { ['k'.repeat(41)]: 'x' } }),
    { statusCode: 400 },
  ],
  'fifty-one metadata entries': [
    orderOf(500, {
      metadata: Object.fromEntries(Array.from({ length: 51 }, (_, n) => [`k${n}`, 'x'])),
    }),
    { statusCode: 400 },
  ],
}

/** The part of the provider's suite that is about checkout sessions. */
export function checkoutSuite(name: string, open: OpenStripe): void {
  describe(`checkout sessions of ${name}`, () => {
    test('are open and unpaid, with a page and without a payment intent', async (t) => {
      const stripe = await open(t)

      const session = await stripe.checkout.sessions.create(
        orderOf(1050, { metadata: { order: '1' }, client_reference_id: 'ref-1' }),
      )

      assert.match(session.id, /^cs_test_/)
      assert.equal(session.status, 'open')
      assert.equal(session.payment_status, 'unpaid')
      assert.equal(session.payment_intent, null)
      assert.equal(session.amount_total, 1050)
      assert.equal(session.currency, 'usd')
      assert.equal(session.expires_at - session.created, 24 * 60 * 60)
      assert.equal(session.client_reference_id, 'ref-1')
      assert.deepEqual(session.metadata, { order: '1' })
      assert.match(session.url ?? '', /^https?:\/\//)
    })

    test('have the members that the schema requires, null where there is nothing', async (t) => {
      const stripe = await open(t)

      const session = await stripe.checkout.sessions.create(orderOf(700))

      const { automatic_tax, custom_fields, custom_text } = session
      assert.deepEqual(automatic_tax, {
        enabled: false,
        liability: null,
        provider: null,
        status: null,
      })
      assert.deepEqual(custom_fields, [])
      assert.deepEqual(custom_text, {
        after_submit: null,
        shipping_address: null,
        submit: null,
        terms_of_service_acceptance: null,
      })
      for (const name of ['after_expiration', 'consent', 'shipping_cost'] as const)
        assert.equal(session[name], null, name)
    })

    test('show their line items on request', async (t) => {
      const stripe = await open(t)
      const { id } = await stripe.checkout.sessions.create(orderOf(700))

      const plain = await stripe.checkout.sessions.retrieve(id)
      const expanded = await stripe.checkout.sessions.retrieve(id, { expand: ['line_items'] })
      const items = await stripe.checkout.sessions.listLineItems(id)

      assert.equal(plain.line_items, undefined)
      assert.equal(expanded.line_items?.data[0]?.description, 'A book')
      assert.equal(items.data[0]?.amount_total, 700)
      assert.equal(items.data[0]?.quantity, 1)
    })

    test('expire once', async (t) => {
      const stripe = await open(t)
      const { id } = await stripe.checkout.sessions.create(orderOf(500))

      const expired = await stripe.checkout.sessions.expire(id)

      assert.equal(expired.status, 'expired')
      assert.equal(expired.url, null)
      await assert.rejects(stripe.checkout.sessions.expire(id), {
        type: 'StripeInvalidRequestError',
        statusCode: 400,
      })
    })

    for (const [what, [parameters, error]] of Object.entries(REFUSED))
      test(`refuse ${what}`, async (t) => {
        const stripe = await open(t)

        await assert.rejects(stripe.checkout.sessions.create(parameters), {
          type: 'StripeInvalidRequestError',
          ...error,
        })
      })
  })
}
