export type Metadata = Record<string, string>

export type Customer = {
  id: string
  email: string | null
  name: string | null
  description: string | null
  metadata: Metadata
}

export type NewCustomer = Omit<Customer, 'id' | 'email'> & { email: string }

/** A hosted checkout session as an event, a reply or a look-up describes it. */
export type CheckoutSession = {
  id: string
  url: string | null
  status: 'open' | 'complete' | 'expired' | null
  paymentStatus: 'paid' | 'unpaid' | 'no_payment_required' | null
  paymentIntentId: string | null
  /** Known only when the provider was asked to expand it. */
  paymentIntentStatus: string | null
  customerId: string | null
  amount: number | null
  currency: string | null
  expiresAt: string | null
  metadata: Metadata
}

/** Everything a session is created from. Stored before it is sent, so that it can be resent. */
export type NewSession = {
  amount: number
  currency: string
  description: string
  customerId: string | null
  customerEmail: string | null
  successUrl: string
  cancelUrl: string
  reference: string
  metadata: Metadata
}

export type RefundStatus = 'requires_action' | 'pending' | 'succeeded' | 'failed' | 'canceled'

export type Refund = {
  id: string
  paymentIntentId: string | null
  amount: number
  currency: string
  status: RefundStatus
  reason: string | null
  metadata: Metadata
}

export type NewRefund = Pick<Refund, 'amount' | 'reason' | 'metadata'> & { paymentIntentId: string }

export type ProviderEvent = {
  id: string
  type: string
  liveMode: boolean | null
  object: Record<string, unknown>
}

/**
 * What this service needs from a payment provider. Every method fails with a Problem; a failed write may
 * have happened nevertheless, unless the failure has `didNothing`.
 */
export type PaymentProvider = {
  /** Whether the credential moves real money; undefined when the credential does not reveal it. */
  liveMode: boolean | undefined
  createCustomer(customer: NewCustomer, idempotencyKey: string): Promise<Customer>
  findCustomer(id: string): Promise<Customer>
  /** Newest first; the provider matches only whole e-mail addresses. */
  listCustomers(query: CustomerQuery): Promise<CustomerPage>
  createSession(session: NewSession, idempotencyKey: string): Promise<CheckoutSession>
  findSession(id: string): Promise<CheckoutSession>
  expireSession(id: string): Promise<CheckoutSession>
  /** Has no upper bound, because the provider's clock may be ahead of ours. */
  listSessions(since: Date): AsyncIterable<CheckoutSession>
  createRefund(refund: NewRefund, idempotencyKey: string): Promise<Refund>
  findRefund(id: string): Promise<Refund>
  listRefunds(paymentIntentId: string): Promise<Refund[]>
  /** One page of the window. Pages go from newest to oldest; events within a page from oldest to newest. */
  listEvents(query: EventQuery): Promise<EventPage>
}

export type CustomerQuery = { email?: string; after?: string; size: number }

/** `next`: where the next page starts; null after the last. */
export type CustomerPage = { customers: Customer[]; next: string | null }

type EventQuery = {
  types: readonly string[]
  from: Date
  to: Date
  /** Where the previous page ended; null for the first page. */
  after: string | null
}

export type EventPage = {
  events: ListedEvent[]
  /** Where the next page starts; null after the last. */
  next: string | null
  /** There are more events, but the page has no id to continue from. */
  cutShort: boolean
}

/** An event of the provider's list and the text to store; `event` is undefined when it cannot be read. */
export type ListedEvent = {
  id: string
  type: string
  event: ProviderEvent | undefined
  body: string
}
