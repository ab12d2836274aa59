import { systemClock } from '@plinth/kit/runtime'
import { signPayload } from '@plinth/kit/tokens'

export const WEBHOOK_SECRET = 'whsec_of_the_bench'

export type Delivery = { body: string; signature: string }
export type Opened = { paymentId: string; checkoutSessionId: string }

const REFUNDS = 10

/** The events of a payment by bank debit with ten refunds; each changes the payment. */
export function eventsOf({ paymentId, checkoutSessionId }: Opened): Delivery[] {
  const intent = `pi_${paymentId}`
  const session = {
    id: checkoutSessionId,
    object: 'checkout.session',
    status: 'complete',
    payment_intent: intent,
    amount_total: 1000,
    currency: 'eur',
    metadata: { paymentId },
  }
  const refunds = Array.from({ length: REFUNDS }, (_, index) => ({
    id: `re_${index}_${paymentId}`,
    object: 'refund',
    amount: 10,
    currency: 'eur',
    payment_intent: intent,
  }))
  return [
    signed('checkout.session.completed', { ...session, payment_status: 'unpaid' }),
    signed('checkout.session.async_payment_succeeded', { ...session, payment_status: 'paid' }),
    ...refunds.flatMap((refund) => [
      signed('refund.created', { ...refund, status: 'pending' }),
      signed('refund.updated', { ...refund, status: 'succeeded' }),
    ]),
  ]
}

let count = 0

export function signed(type: string, object: object): Delivery {
  count += 1
  const id = `evt_bench_${count}`
  const body = JSON.stringify({ id, object: 'event', type, created: 0, data: { object } })
  return { body, signature: signPayload(body, [WEBHOOK_SECRET], systemClock()) }
}
