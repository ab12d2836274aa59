import { requestRefused, resourceMissing } from '../../protocol/errors.ts'
import { readPage } from '../../protocol/lists.ts'
import type { Operation } from '../../protocol/operation.ts'
import { choice, createdRange, pageable, readParameters, text } from '../../protocol/parameters.ts'
import type { CheckoutSession } from '../../state/object-kinds.ts'
import { findObject, updateObject } from '../../state/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { cancelPaymentIntent } from '../money/payment-intents.ts'
import { deleteTimersOf } from '../timers.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { listLineItems } from './line-items.ts'

export const retrieveSession: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  return requireSession(sandbox, id)
}

export const listSessions: Operation = async (sandbox, { form, path }) => {
  const { payment_intent, customer, status, created, ...page } = readParameters(form, {
    ...pageable,
    payment_intent: text(),
    customer: text(),
    status: choice(['open', 'complete', 'expired']),
    created: createdRange,
  })
  const filter = { where: { payment_intent, customer, status }, created }
  return readPage(sandbox, 'checkout.session', path, page, filter)
}

export const listSessionItems: Operation = async (sandbox, { id, form }) => {
  readParameters(form, pageable)
  return listLineItems(sandbox, (await requireSession(sandbox, id)).id)
}

export const expireSessionCall: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  return expireSession(sandbox, id)
}

/** Ends an open session. What had begun to be paid in it can no longer be. */
export async function expireSession(sandbox: Sandbox, id: string): Promise<CheckoutSession> {
  const session = await requireOpenSession(sandbox, id)
  if (session.payment_intent !== null) await cancelPaymentIntent(sandbox, session.payment_intent)
  const expired: CheckoutSession = { ...session, status: 'expired', url: null }
  await updateObject(sandbox.db, expired)
  await deleteTimersOf(sandbox.db, id)
  await recordEvent(sandbox, 'checkout.session.expired', expired)
  return expired
}

/** The customer is through; whether the money is there is told by `paymentStatus`. */
export async function completeSession(
  sandbox: Sandbox,
  id: string,
  paymentStatus: CheckoutSession['payment_status'],
): Promise<void> {
  const session = await requireOpenSession(sandbox, id)
  const complete: CheckoutSession = {
    ...session,
    customer_details: await customerDetails(sandbox, session),
    payment_status: paymentStatus,
    status: 'complete',
    url: null,
  }
  await updateObject(sandbox.db, complete)
  await deleteTimersOf(sandbox.db, id)
  await recordEvent(sandbox, 'checkout.session.completed', complete)
}

async function customerDetails(sandbox: Sandbox, session: CheckoutSession) {
  const customer = await findObject(sandbox.db, 'customer', session.customer ?? '')
  const { email = session.customer_email, name = null } =
    customer && !('deleted' in customer) ? customer : {}
  return { email, name, phone: null }
}

export async function requireSession(sandbox: Sandbox, id: string): Promise<CheckoutSession> {
  const session = await findObject(sandbox.db, 'checkout.session', id)
  if (!session) throw resourceMissing('checkout.session', id)
  return session
}

/** Read and used in one transaction, so of two tabs that pay or expire a session one succeeds. */
export async function requireOpenSession(sandbox: Sandbox, id: string): Promise<CheckoutSession> {
  const session = await requireSession(sandbox, id)
  if (session.status === 'open') return session
  throw requestRefused(
    `Only Checkout Sessions with a status in ["open"] can be used. This Session has a status of ${session.status}.`,
  )
}
