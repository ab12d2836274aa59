import type Stripe from 'stripe'
import { readCreated } from '../failures.ts'
import { providerFailed, providerResourceMissing } from '../problems.ts'
import type { EventQuery, NewSession, ProviderCalls } from '../provider.ts'
import { isName, isObject } from '../values.ts'
import { createStripeCall, type StripeCall, type StripeOptions } from './client.ts'
import { POLLED_EVENTS, readListedEvent } from './events.ts'
import { readCustomer, readRefund, readSession } from './objects.ts'

type Mode = { liveMode: boolean | undefined }

export function createStripeCalls(options: StripeOptions & Mode): ProviderCalls {
  const call = createStripeCall(options)
  return {
    ...customerCalls(call),
    ...sessionCalls(call),
    ...refundCalls(call),
    ...eventCalls(call, options),
  }
}

function customerCalls(call: StripeCall) {
  return {
    async createCustomer(customer, idempotencyKey) {
      const name = customer.name ?? undefined
      const body = { ...customer, name, description: customer.description ?? undefined }
      const created = await call((stripe) => stripe.customers.create(body, { idempotencyKey }))
      // Members that the reply leaves out have the requested values.
      return readCustomer({ ...body, ...raw(created) })
    },

    async findCustomer(id) {
      const customer = await call((stripe) => stripe.customers.retrieve(id))
      // For a deleted customer the provider answers 200 with a stub.
      if (customer.deleted) throw providerResourceMissing()
      return readCustomer(raw(customer))
    },

    async listCustomers({ email, after, size }) {
      const query = { email, starting_after: after, limit: size }
      const page = await call((stripe) => stripe.customers.list(query))
      const customers = page.data.map((customer) => readCustomer(raw(customer)))
      return { customers, next: page.has_more ? (customers.at(-1)?.id ?? null) : null }
    },
  } satisfies Partial<ProviderCalls>
}

function sessionCalls(call: StripeCall) {
  const findSession = async (id: string) => {
    const expanded = { expand: ['payment_intent'] }
    return readSession(raw(await call((stripe) => stripe.checkout.sessions.retrieve(id, expanded))))
  }

  return {
    findSession,

    async createSession(session, idempotencyKey) {
      const body = sessionBody(session)
      const created = await call((stripe) =>
        stripe.checkout.sessions.create(body, { idempotencyKey }),
      )
      return isReplay(created) ? readCreated(findSession(created.id)) : readSession(raw(created))
    },

    async expireSession(id) {
      const key = { idempotencyKey: `ex1:${id}` }
      return readSession(raw(await call((stripe) => stripe.checkout.sessions.expire(id, {}, key))))
    },

    async *listSessions(since) {
      const created = { gte: unixSeconds(since) }
      const sessions = allOf((cursor) =>
        call((stripe) => stripe.checkout.sessions.list({ ...cursor, created })),
      )
      for await (const session of sessions) yield readSession(raw(session))
    },
  } satisfies Partial<ProviderCalls>
}

function sessionBody(session: NewSession): Stripe.Checkout.SessionCreateParams {
  const { amount, currency, description, customerId, customerEmail, metadata } = session
  const product = { currency, unit_amount: amount, product_data: { name: description } }
  return {
    mode: 'payment',
    line_items: [{ quantity: 1, price_data: product }],
    ...(customerId && { customer: customerId }),
    ...(customerEmail && !customerId && { customer_email: customerEmail }),
    client_reference_id: session.reference,
    metadata,
    payment_intent_data: { metadata },
    success_url: session.successUrl,
    cancel_url: session.cancelUrl,
  }
}

function refundCalls(call: StripeCall) {
  const findRefund = async (id: string) =>
    readRefund(raw(await call((stripe) => stripe.refunds.retrieve(id))))

  return {
    findRefund,

    async createRefund({ paymentIntentId, amount, reason, metadata }, idempotencyKey) {
      const body: Stripe.RefundCreateParams = {
        payment_intent: paymentIntentId,
        amount,
        metadata,
        reason: (reason ?? undefined) as Stripe.RefundCreateParams.Reason | undefined,
      }
      const created = await call((stripe) => stripe.refunds.create(body, { idempotencyKey }))
      if (isReplay(created)) return readCreated(findRefund(created.id))
      const refund = readRefund({ ...body, ...raw(created) })
      return { ...refund, metadata: { ...metadata, ...refund.metadata } }
    },

    async listRefunds(paymentIntentId) {
      const refunds = allOf((cursor) =>
        call((stripe) => stripe.refunds.list({ ...cursor, payment_intent: paymentIntentId })),
      )
      return Array.fromAsync(refunds, (refund) => readRefund(raw(refund)))
    },
  } satisfies Partial<ProviderCalls>
}

/** A replayed reply is a snapshot taken at creation: the object has to be read again. */
function isReplay(reply: { lastResponse: { headers: Record<string, string> } }): boolean {
  return reply.lastResponse.headers['idempotent-replayed'] === 'true'
}

const PAGE_SIZE = 100

type Page<T> = { data: T[]; has_more: boolean }

type Cursor = { limit: number; starting_after?: string }

async function* allOf<T extends { id: string }>(
  fetchPage: (cursor: Cursor) => Promise<Page<T>>,
): AsyncGenerator<T> {
  let cursor: Cursor = { limit: PAGE_SIZE }
  while (true) {
    const page = await fetchPage(cursor)
    yield* page.data
    const last = page.data.at(-1)
    if (!page.has_more || !last || last.id === cursor.starting_after) return
    cursor = { limit: PAGE_SIZE, starting_after: last.id }
  }
}

function eventCalls(call: StripeCall, { liveMode }: Mode) {
  return {
    async listEvents({ from, to, after }: EventQuery) {
      const query = {
        limit: PAGE_SIZE,
        types: [...POLLED_EVENTS],
        created: { gte: unixSeconds(from), lte: unixSeconds(to) },
        starting_after: after ?? undefined,
      }
      const page = await call((stripe) => stripe.events.list(query))
      const last = page.has_more ? lastIdOf(page.data) : null
      const next = last === after ? null : last
      const events = page.data.map((event) => readListedEvent(event, liveMode)).reverse()
      return { events, next, cutShort: page.has_more && next === null }
    },
  } satisfies Partial<ProviderCalls>
}

/** The last usable id. Events after it are repeated on the next page, and are already known by then. */
function lastIdOf(data: unknown[]): string | null {
  if (data.length === 0) throw providerFailed()
  const ids = data.map((item) => (isObject(item) ? item.id : undefined))
  return ids.findLast(isName) ?? null
}

function unixSeconds(date: Date): number {
  return Math.floor(date.getTime() / 1000)
}

/** The client's types promise more than a reply is certain to contain. */
function raw(object: object): Record<string, unknown> {
  return object as Record<string, unknown>
}
