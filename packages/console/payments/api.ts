import { createApi } from '../family/api/api.ts'

// The endpoints take no credentials as shipped; whoever hosts them guards them.
export const api = createApi({ headers: () => ({}) })

export type PaymentStatus = 'PENDING' | 'PAID' | 'FAILED' | 'PARTIALLY_REFUNDED' | 'REFUNDED'

export type Payment = {
  id: string
  businessReference: string
  providerCustomerId: string | null
  providerCheckoutSessionId: string | null
  providerPaymentIntentId: string | null
  checkoutAttemptReference: string | null
  checkoutStatus: 'OPEN' | 'COMPLETE' | 'EXPIRED' | null
  amount: number
  refundedAmount: number
  currency: string
  status: PaymentStatus
  createdAt: string
  updatedAt: string
}

export type Checkout = { paymentId: string; checkoutSessionId: string; checkoutUrl: string }

export type Refund = {
  id: string
  paymentIntentId: string
  amount: number
  currency: string
  status: string
  reason: string | null
}

/** A reference nobody used before, short enough to read aloud. */
export function newReference(prefix: string): string {
  const bytes = crypto.getRandomValues(new Uint8Array(4))
  return `${prefix}-${[...bytes].map((byte) => byte.toString(36).padStart(2, '0')).join('')}`
}
