import type { Attempt } from './attempts.repository.ts'
import type { CheckoutRequest } from './checkout-plan.ts'
import { checkoutKey } from './idempotency-keys.ts'
import type { Payments } from './payments.ts'
import type { NewSession } from './provider/provider.ts'

/** Everything the attempt is sent with, so that it can be written down first and sent again. */
export function newAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  sequence = 1,
  generation = 0,
): Attempt {
  const { attemptReference } = request
  return {
    paymentId,
    sequence,
    reference: attemptReference,
    state: 'reserved',
    sessionId: null,
    paymentIntentId: null,
    url: null,
    expiresAt: null,
    request: JSON.stringify(newSession(payments, paymentId, request)),
    idempotencyKey: checkoutKey(paymentId, attemptReference, generation),
    firstSentAt: payments.clock().toISOString(),
  }
}

function newSession(
  { successUrl, cancelUrl }: Payments,
  paymentId: string,
  request: CheckoutRequest,
): NewSession {
  const { businessReference, amount, currency, description } = request
  return {
    amount,
    currency,
    description,
    customerId: request.providerCustomerId,
    customerEmail: request.customerEmail,
    successUrl,
    cancelUrl,
    reference: paymentId,
    metadata: { ...request.metadata, paymentId, businessReference },
  }
}
