import type { AuditEvent, Page, PageQuery } from './accounts.ts'
import { type ClientOptions, jsonOf, nothingOf, segmentOf, sender } from './http/request.ts'
import {
  type EventCalls,
  eventCalls,
  type ProtectedResourceCalls,
  protectedResourceCalls,
  type ServiceKeyCalls,
  serviceKeyCalls,
} from './operations.ts'

export type Metadata = Record<string, string>

export type CustomerRequest = {
  email: string
  name?: string | undefined
  description?: string | undefined
  metadata?: Metadata | undefined
}

export type Customer = {
  id: string
  email: string | null
  name: string | null
  description: string | null
  metadata: Metadata
}

/** The provider matches whole addresses only. */
export type CustomerQuery = {
  email?: string | undefined
  after?: string | undefined
  size?: number | undefined
}

export type CheckoutRequest = {
  /** In the currency's minor unit. */
  amount: number
  currency: string
  description: string
  businessReference: string
  attemptReference: string
  customerEmail?: string | undefined
  providerCustomerId?: string | undefined
  metadata?: Metadata | undefined
  /** At an origin that the service allows; by default its own pages. */
  successUrl?: string | undefined
  cancelUrl?: string | undefined
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
  amount?: number | undefined
  reason?: 'DUPLICATE' | 'FRAUDULENT' | 'REQUESTED_BY_CUSTOMER' | undefined
  reference: string
  metadata?: Metadata | undefined
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

export type ListedPayment = Payment & { anomalies: string[] }

/** How a payment reached its current state. */
export type Timeline = {
  paymentId: string
  status: Payment['status']
  checkoutStatus: Payment['checkoutStatus']
  explanation: string
  anomalies: string[]
  refundableAmount: number
  nextCheckAt: string | null
  attempts: {
    sequence: number
    reference: string
    state: string
    sessionId: string | null
    paymentIntentId: string | null
    expiresAt: string | null
    url: string | null
  }[]
  refunds: {
    id: string
    paymentIntentId: string | null
    amount: number
    status: string
    reason: string | null
  }[]
  observations: {
    paymentId: string | null
    at: string
    source: string
    kind: string
    subject: string | null
    eventId: string | null
    note: string | null
    anomaly: string | null
    statusBefore: string | null
    statusAfter: string | null
  }[]
}

/** A message from the payment provider to the service. */
export type ProviderEvent = {
  id: string
  type: string
  status: 'PROCESSED' | 'IGNORED' | 'FAILED' | 'DEAD'
  source: 'webhook' | 'poll'
  paymentId: string | null
  parkedFor: string | null
  tries: number
  nextTryAt: string | null
  error: string | null
  receivedAt: string
  processedAt: string | null
  sizeBytes: number
}

/** With the payload as received, secrets shown as ***; null for an old event. */
export type ReceivedProviderEvent = ProviderEvent & { payload: unknown }

export type ProviderEventResult = {
  eventId: string
  eventType: string
  status: 'PROCESSED' | 'IGNORED'
  duplicate: boolean
}

export type PaymentCalls = {
  configuration(): Promise<{ providerApiConfigured: boolean; webhookConfigured: boolean }>
  /** With an idempotency key it is safe to repeat, and so is retried after a failure. */
  createCustomer(request: CustomerRequest, idempotencyKey?: string): Promise<Customer>
  customer(id: string): Promise<Customer>
  /** Creates a checkout, or returns the open one of the same business reference. */
  checkOut(request: CheckoutRequest): Promise<CheckoutSession>
  payment(id: string): Promise<Payment>
  refund(paymentId: string, request: RefundRequest): Promise<Refund>
  refundState(id: string): Promise<Refund>
}

/** For operators: the service answers these only if it is configured to. */
export type PaymentOperationsCalls = {
  payments(
    query?: PageQuery & { businessReference?: string | undefined },
  ): Promise<Page<ListedPayment>>
  timeline(paymentId: string): Promise<Timeline>
  /** Asks the provider about the payment now. */
  checkPayment(paymentId: string): Promise<void>
  /** Newest first; `after` is the `next` of the page before. */
  customers(query?: CustomerQuery): Promise<{ customers: Customer[]; next: string | null }>
  audit(query?: PageQuery): Promise<Page<Omit<AuditEvent, 'result'>>>
  webhookEvents(
    query?: PageQuery & { status?: string | undefined; type?: string | undefined },
  ): Promise<Page<ProviderEvent>>
  webhookEvent(id: string): Promise<ReceivedProviderEvent>
  retryWebhookEvent(id: string): Promise<ProviderEventResult>
}

export type PaymentsClient = PaymentCalls &
  PaymentOperationsCalls &
  ServiceKeyCalls &
  EventCalls &
  ProtectedResourceCalls

/** `accessToken` is needed only if the service requires one. */
export function paymentsClient(baseUrl: string, options: ClientOptions = {}): PaymentsClient {
  const send = sender(baseUrl, options)
  const at = (path: string, id: string, rest = '') => `${path}/${segmentOf(id)}${rest}`
  return {
    ...serviceKeyCalls(send),
    ...eventCalls(send),
    ...protectedResourceCalls(send),
    configuration: () => jsonOf(send('GET', '/api/configuration')),
    createCustomer: (json, idempotencyKey) => {
      const headers = idempotencyKey ? { 'idempotency-key': idempotencyKey } : undefined
      return jsonOf(send('POST', '/api/customers', { json, headers }))
    },
    customer: (id) => jsonOf(send('GET', at('/api/customers', id))),
    checkOut: (json) => jsonOf(send('POST', '/api/checkout/sessions', { json })),
    payment: (id) => jsonOf(send('GET', at('/api/payments', id))),
    refund: (paymentId, json) =>
      jsonOf(send('POST', at('/api/payments', paymentId, '/refund'), { json })),
    refundState: (id) => jsonOf(send('GET', at('/api/refunds', id))),
    payments: (query) => jsonOf(send('GET', '/api/payments', { query })),
    timeline: (id) => jsonOf(send('GET', at('/api/payments', id, '/timeline'))),
    checkPayment: (id) => nothingOf(send('POST', at('/api/payments', id, '/check'))),
    customers: (query) => jsonOf(send('GET', '/api/customers', { query })),
    audit: (query) => jsonOf(send('GET', '/api/audit', { query })),
    webhookEvents: (query) => jsonOf(send('GET', '/api/webhook-events', { query })),
    webhookEvent: (id) => jsonOf(send('GET', at('/api/webhook-events', id))),
    retryWebhookEvent: (id) => jsonOf(send('POST', at('/api/webhook-events', id, '/retry'))),
  }
}
