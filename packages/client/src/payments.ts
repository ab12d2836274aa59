import { type ClientOptions, jsonOf, sender } from './request.ts'

type Metadata = Record<string, string>

export type CustomerRequest = {
  email: string
  name?: string
  description?: string
  metadata?: Metadata
}

export type Customer = {
  id: string
  email: string | null
  name: string | null
  description: string | null
  metadata: Metadata
}

export type CheckoutRequest = {
  /** In the currency's minor unit. */
  amount: number
  currency: string
  description: string
  businessReference: string
  attemptReference: string
  customerEmail?: string
  providerCustomerId?: string
  metadata?: Metadata
}

export type CheckoutSession = { paymentId: string; checkoutSessionId: string; checkoutUrl: string }

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
  status: 'PENDING' | 'PAID' | 'FAILED' | 'PARTIALLY_REFUNDED' | 'REFUNDED'
  createdAt: string
  updatedAt: string
}

export type RefundRequest = {
  amount?: number
  reason?: 'DUPLICATE' | 'FRAUDULENT' | 'REQUESTED_BY_CUSTOMER'
  reference: string
  metadata?: Metadata
}

export type Refund = {
  id: string
  paymentId: string | null
  paymentIntentId: string | null
  amount: number
  currency: string
  status: string
  reason: string | null
  metadata: Metadata
}

/** `accessToken` is needed only if the service requires one. */
export function paymentsClient(
  baseUrl: string,
  options: ClientOptions & { accessToken?: () => string | undefined } = {},
) {
  const sendPlain = sender(baseUrl, options)
  const send: typeof sendPlain = (method, path, call = {}) => {
    const token = options.accessToken?.()
    const headers = token ? { ...call.headers, authorization: `Bearer ${token}` } : call.headers
    return sendPlain(method, path, { ...call, headers })
  }
  const pathOf = encodeURIComponent
  return {
    configuration: () =>
      jsonOf<{ providerApiConfigured: boolean; webhookConfigured: boolean }>(
        send('GET', '/api/configuration'),
      ),
    createCustomer: (json: CustomerRequest, idempotencyKey?: string) => {
      const headers = idempotencyKey ? { 'idempotency-key': idempotencyKey } : undefined
      return jsonOf<Customer>(send('POST', '/api/customers', { json, headers }))
    },
    customer: (id: string) => jsonOf<Customer>(send('GET', `/api/customers/${pathOf(id)}`)),
    /** Creates a checkout, or returns the open one of the same business reference. */
    checkOut: (json: CheckoutRequest) =>
      jsonOf<CheckoutSession>(send('POST', '/api/checkout/sessions', { json })),
    payment: (id: string) => jsonOf<Payment>(send('GET', `/api/payments/${pathOf(id)}`)),
    refund: (paymentId: string, json: RefundRequest) =>
      jsonOf<Refund>(send('POST', `/api/payments/${pathOf(paymentId)}/refund`, { json })),
    refundState: (id: string) => jsonOf<Refund>(send('GET', `/api/refunds/${pathOf(id)}`)),
  }
}
