import { AuditLog } from './audit-log.ts'
import { Events, WebhookEndpoints } from './events.ts'
import type {
  Acknowledgement,
  AuditEvent,
  CheckoutRequest,
  CheckoutSession,
  Configuration,
  Customer,
  CustomerRequest,
  RefundRequest as GivenRefund,
  ListedPayment,
  PageOfCustomers,
  PageOfPayments,
  PageOfWebhookEvents,
  Payment,
  ProblemCode,
  ProblemDetails,
  Queries,
  ReceivedWebhookEvent,
  Refund,
  Replies,
  Timeline,
  WebhookEvent,
} from './generated/payments.ts'
import { type CallOptions, type Calls, callsOf } from './http/calls.ts'
import { type Answered, ProblemError } from './http/errors.ts'
import { after, type Listing, listing, pages } from './http/listing.ts'
import { type ClientOptions, sender } from './http/request.ts'
import { ProtectedOperations } from './operations.ts'
import { ServiceKeys } from './service-keys.ts'

export type PaymentsProblem = Answered<ProblemCode, ProblemDetails>
export type CustomerQuery = Queries['GET /api/customers']
export type PaymentQuery = Queries['GET /api/payments']
export type ProviderEventQuery = Queries['GET /api/webhook-events']
export type RefundRequest = Omit<GivenRefund, 'reason'> & {
  reason?: 'DUPLICATE' | 'FRAUDULENT' | 'REQUESTED_BY_CUSTOMER' | null | undefined
}

/** People at the payment provider. */
export class Customers {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * With an idempotency key it is safe to repeat, and so is retried after a failure.
   * @example
   * const { id } = await payments.customers.create({ email: 'ada@example.com' }, crypto.randomUUID())
   */
  create(
    request: CustomerRequest,
    idempotencyKey?: string,
    options?: CallOptions,
  ): Promise<Customer> {
    const headers = idempotencyKey ? { 'idempotency-key': idempotencyKey } : undefined
    return this.#calls.json('POST /api/customers', { json: request, headers }, options)
  }

  /**
   * @example
   * const { email } = await payments.customers.get('cus_A1b2C3')
   */
  get(id: string, options?: CallOptions): Promise<Customer> {
    return this.#calls.json('GET /api/customers/{id}', { path: { id } }, options)
  }

  /**
   * Newest first. The provider matches whole addresses only. For operators.
   * @example
   * for await (const { id } of payments.customers.list({ email: 'ada@example.com' })) console.log(id)
   */
  list(query?: CustomerQuery, options?: CallOptions): Listing<PageOfCustomers, Customer> {
    return listing(
      (next) => this.#calls.json('GET /api/customers', { query: { ...query, ...next } }, options),
      { itemsOf: ({ customers }) => customers, nextOf: ({ next }) => after(next) },
    )
  }
}

/** Pages of the provider on which customers pay. */
export class Checkouts {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * Creates a checkout, or returns the open one of the same business reference. The amount is in the currency's
   * minor unit.
   * @example
   * const order = { amount: 4900, currency: 'eur', description: 'A chair', businessReference: 'order-1' }
   * const { checkoutUrl } = await payments.checkouts.create({ ...order, attemptReference: 'first' })
   */
  create(request: CheckoutRequest, options?: CallOptions): Promise<CheckoutSession> {
    return this.#calls.json('POST /api/checkout/sessions', { json: request }, options)
  }
}

export class Payments {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * @example
   * const { status } = await payments.payments.get(paymentId)
   */
  get(id: string, options?: CallOptions): Promise<Payment> {
    return this.#calls.json('GET /api/payments/{id}', { path: { id } }, options)
  }

  /**
   * For operators.
   * @example
   * for await (const { id, status } of payments.payments.list()) console.log(id, status)
   */
  list(query?: PaymentQuery, options?: CallOptions): Listing<PageOfPayments, ListedPayment> {
    return pages((next) =>
      this.#calls.json('GET /api/payments', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * How a payment reached its current state. For operators.
   * @example
   * const { explanation } = await payments.payments.timeline(paymentId)
   */
  timeline(id: string, options?: CallOptions): Promise<Timeline> {
    return this.#calls.json('GET /api/payments/{id}/timeline', { path: { id } }, options)
  }

  /**
   * Asks the provider about the payment now. For operators.
   * @example
   * await payments.payments.check(paymentId)
   */
  check(id: string, options?: CallOptions): Promise<void> {
    return this.#calls.nothing('POST /api/payments/{id}/check', { path: { id } }, options)
  }
}

export class Refunds {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * All of the payment if no amount is given.
   * @example
   * const { id } = await payments.refunds.create(paymentId, { amount: 400, reference: 'refund-1' })
   */
  create(paymentId: string, request: RefundRequest, options?: CallOptions): Promise<Refund> {
    const call = { path: { id: paymentId }, json: request }
    return this.#calls.json('POST /api/payments/{id}/refund', call, options)
  }

  /**
   * @example
   * const { status } = await payments.refunds.get('re_A1b2C3')
   */
  get(id: string, options?: CallOptions): Promise<Refund> {
    return this.#calls.json('GET /api/refunds/{id}', { path: { id } }, options)
  }
}

/** Messages from the payment provider to the service. For operators. */
export class ProviderEvents {
  readonly #calls: Calls<Replies>

  constructor(calls: Calls<Replies>) {
    this.#calls = calls
  }

  /**
   * @example
   * for await (const { id, error } of payments.providerEvents.list({ status: 'FAILED' })) console.log(id, error)
   */
  list(
    query?: ProviderEventQuery,
    options?: CallOptions,
  ): Listing<PageOfWebhookEvents, WebhookEvent> {
    return pages((next) =>
      this.#calls.json('GET /api/webhook-events', { query: { ...query, ...next } }, options),
    )
  }

  /**
   * With the payload as received, secrets shown as ***; null for an old event.
   * @example
   * const { payload } = await payments.providerEvents.get('evt_A1b2C3')
   */
  get(id: string, options?: CallOptions): Promise<ReceivedWebhookEvent> {
    return this.#calls.json('GET /api/webhook-events/{id}', { path: { id } }, options)
  }

  /**
   * @example
   * const { status } = await payments.providerEvents.retry('evt_A1b2C3')
   */
  retry(id: string, options?: CallOptions): Promise<Acknowledgement> {
    return this.#calls.json('POST /api/webhook-events/{id}/retry', { path: { id } }, options)
  }
}

export class PaymentsClient {
  readonly customers: Customers
  readonly checkouts: Checkouts
  readonly payments: Payments
  readonly refunds: Refunds
  readonly providerEvents: ProviderEvents
  readonly audit: AuditLog<AuditEvent, Queries['GET /api/audit']>
  readonly keys: ServiceKeys
  readonly endpoints: WebhookEndpoints
  readonly events: Events
  readonly operations: ProtectedOperations
  readonly #calls: Calls<Replies>

  constructor(baseUrl: string, options: ClientOptions = {}) {
    const calls = callsOf<Replies>(sender(baseUrl, options))
    this.#calls = calls
    this.customers = new Customers(calls)
    this.checkouts = new Checkouts(calls)
    this.payments = new Payments(calls)
    this.refunds = new Refunds(calls)
    this.providerEvents = new ProviderEvents(calls)
    this.audit = new AuditLog(calls)
    this.keys = new ServiceKeys(calls)
    this.endpoints = new WebhookEndpoints(calls)
    this.events = new Events(calls)
    this.operations = new ProtectedOperations(calls)
  }

  /**
   * Whether the service can take payments.
   * @example
   * const { providerApiConfigured } = await payments.configuration()
   */
  configuration(options?: CallOptions): Promise<Configuration> {
    return this.#calls.json('GET /api/configuration', {}, options)
  }

  /**
   * Whether the service answered with a problem; its `code` is then one of those it has.
   * @example
   * if (payments.isProblem(error) && error.code === 'PAYMENT_NOT_FOUND') console.log(error.message)
   */
  isProblem(error: unknown): error is PaymentsProblem {
    return error instanceof ProblemError
  }
}

/**
 * `accessToken` is needed only if the service requires one.
 * @example
 * const payments = paymentsClient('http://localhost:8084', { accessToken: 'plk_live_…' })
 */
export function paymentsClient(baseUrl: string, options?: ClientOptions): PaymentsClient {
  return new PaymentsClient(baseUrl, options)
}
