import { requestRefused, resourceMissing } from '../../protocol/errors.ts'
import {
  DEFAULT_LIMIT,
  type List,
  listOf,
  type Operation,
  type Page,
  pageable,
  requireObject,
} from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import { type CheckoutSession, CUSTOMER_DETAILS, type LineItem } from '../../state/objects/kinds.ts'
import { findObject, listObjects } from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { cancelPaymentIntent } from '../money/payment-intents.ts'
import { deleteTimersOf } from '../timers.repository.ts'
import { changeObject } from '../webhooks/events.ts'

export const listSessionItems: Operation = async (sandbox, { id, form }) => {
  const page = read.parameters(form, pageable)
  await requireObject(sandbox, 'checkout.session', id)
  return pageOfItems(await listLineItems(sandbox, id), page)
}

/** In the order of the session; other lists are newest first. */
function pageOfItems(
  { data: items, url }: List<LineItem>,
  { limit = DEFAULT_LIMIT, starting_after: after, ending_before: before }: Page,
): List<LineItem> {
  const indexOf = (cursor: string, id: string) => {
    const index = items.findIndex((item) => item.id === id)
    if (index === -1) throw resourceMissing('item', id, cursor)
    return index
  }
  const from = after === undefined ? 0 : indexOf('starting_after', after) + 1
  const to = before === undefined ? items.length : indexOf('ending_before', before)
  const within = items.slice(from, to)
  const page = before === undefined ? within.slice(0, limit) : within.slice(-limit)
  return listOf(page, url, within.length > limit)
}

export async function listLineItems(sandbox: Sandbox, sessionId: string) {
  const items = await listObjects(sandbox.db, 'item', { parent: sessionId })
  return listOf(items.reverse(), `/v1/checkout/sessions/${sessionId}/line_items`)
}

export const expireSessionCall: Operation = async (sandbox, { id, form }) => {
  read.parameters(form, {})
  return expireSession(sandbox, id)
}

/** Ends an open session. A payment that was started in it is canceled. */
export async function expireSession(sandbox: Sandbox, id: string): Promise<CheckoutSession> {
  const session = await requireOpenSession(sandbox, id)
  if (session.payment_intent !== null) await cancelPaymentIntent(sandbox, session.payment_intent)
  const expired = { ...session, status: 'expired', url: null } as const
  await endSession(sandbox, expired, 'checkout.session.expired')
  return expired
}

/** The customer is done; `paymentStatus` says whether the money has arrived. */
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
  await endSession(sandbox, complete, 'checkout.session.completed')
}

async function endSession(sandbox: Sandbox, ended: CheckoutSession, event: string): Promise<void> {
  await deleteTimersOf(sandbox.db, ended.id)
  await changeObject(sandbox, ended, event)
}

async function customerDetails(sandbox: Sandbox, session: CheckoutSession) {
  const customer = await findObject(sandbox.db, 'customer', session.customer ?? '')
  const { email = session.customer_email, name = null } =
    customer && !('deleted' in customer) ? customer : {}
  return { ...CUSTOMER_DETAILS, email, name }
}

/** Read and used in one transaction, so only one of two tabs that pay or expire a session succeeds. */
export async function requireOpenSession(sandbox: Sandbox, id: string): Promise<CheckoutSession> {
  const session = await requireObject(sandbox, 'checkout.session', id)
  if (session.status === 'open') return session
  throw requestRefused(
    `Only Checkout Sessions with a status in ["open"] can be used. This Session has a status of ${session.status}.`,
  )
}
