import type { TSchema } from 'typebox'

export type Metadata = Record<string, string>

export type Customer = {
  id: string
  email: string | null
  name: string | null
  description: string | null
  metadata: Metadata
}

export type NewCustomer = Omit<Customer, 'id' | 'email'> & { email: string }

export type SessionState = 'open' | 'expired' | 'processing' | 'failed' | 'paid'

/** A hosted checkout session as an event, a reply or a look-up describes it. */
export type CheckoutSession = {
  id: string
  url: string | null
  state: SessionState
  paymentIntentId: string | null
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

/** `type` is the provider's own word: it is shown, and never interpreted. */
export type ProviderEvent = {
  id: string
  type: string
  about: EventObject
  metadata: Metadata
}

export type EventObject =
  | { kind: 'session'; session: CheckoutSession }
  | { kind: 'refund'; refund: Refund }
  /** Moves no money by itself; it is a reason to ask the provider again. */
  | { kind: 'hint'; paymentIntentId: string | null }
  /** Of test mode although the credential is live, or the other way round. */
  | { kind: 'wrong-mode' }
  | { kind: 'other' }

/** `body` is the JSON text to store. */
export type Delivery = { event: ProviderEvent; body: string }

/** By lower-case name, with every value that was received. */
export type DeliveryHeaders = Readonly<Record<string, readonly string[] | undefined>>

/** For the API document. */
export type DeliveryDocument = {
  description: string
  signatureHeader: string
  /** The type of one of its events. */
  exampleType: string
  /** By content type. */
  bodies: Record<string, TSchema>
}

/**
 * What the rest of the service shows and checks of a provider's settings. All members are always there: the copy of a
 * backup that is verified gets them as they are when nothing is set, in place of those that reach the provider.
 */
export type ProviderSettings = {
  /** For operators. */
  settingNames: { secretKey: string; webhookSecret: string }
  secretKey: string | undefined
  webhookSecrets: string[]
  /** Where a browser finds the sandbox; undefined when the service uses a real provider. */
  sandboxUrl: string | undefined
  /** Whether the credential moves real money; undefined when it does not reveal it. */
  liveMode: boolean | undefined
}

/** Everything that differs from one payment provider to another. */
export type PaymentProvider = {
  /** Absent while no credential is configured. */
  calls: ProviderCalls | undefined
  deliveries: DeliveryDocument
  /** Refuses what the headers of a delivery alone rule out, before its body is read. */
  checkDelivery(headers: DeliveryHeaders): void
  /** Verifies that a delivery is genuine and not old, and reads its event. */
  readDelivery(bytes: Uint8Array, headers: DeliveryHeaders, now: Date): Delivery
  /** Reads the event of a stored body again; it was verified when it arrived. */
  readStored(body: string): ProviderEvent
}

/**
 * What this service asks of a payment provider. Every method fails with a Problem; a failed write may
 * have happened nevertheless, unless the failure has `didNothing`.
 */
export type ProviderCalls = {
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

export type EventQuery = {
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
