import type { Api } from '@plinth/kit/testing'
import type Stripe from 'stripe'

const SUCCESS_URL = 'http://localhost:9/success?session={CHECKOUT_SESSION_ID}'
export const CANCEL_URL = 'http://localhost:9/cancel'

/** The parameters of a checkout for a single item. */
export function orderOf(
  amount: number,
  more: Stripe.Checkout.SessionCreateParams = {},
  currency = 'usd',
): Stripe.Checkout.SessionCreateParams {
  return {
    mode: 'payment',
    success_url: SUCCESS_URL,
    cancel_url: CANCEL_URL,
    line_items: [
      {
        quantity: 1,
        price_data: { currency, unit_amount: amount, product_data: { name: 'A book' } },
      },
    ],
    ...more,
  }
}

type Started = { stripe: Stripe; api: Api }

/** A session that was paid by card, and its payment intent. */
export async function paidOrder({ stripe, api }: Started, amount = 1000, card?: string) {
  const session = await stripe.checkout.sessions.create(orderOf(amount))
  const paid = await api.post(
    `/sandbox/api/sessions/${session.id}/pay`,
    card ? { card } : undefined,
  )
  return { session: session.id, intent: paid.body.session.payment_intent as string }
}
