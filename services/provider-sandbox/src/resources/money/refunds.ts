import { requestRefused, resourceMissing } from '../../protocol/errors.ts'
import { readPage } from '../../protocol/lists.ts'
import type { Operation } from '../../protocol/operation.ts'
import {
  createdRange,
  mergeMetadata,
  metadata,
  pageable,
  readParameters,
  text,
} from '../../protocol/parameters.ts'
import type { Refund } from '../../state/object-kinds.ts'
import { findObject, updateObject } from '../../state/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { deleteTimersOf } from '../timers.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { requireCharge } from './charges.ts'
import { enterInLedger } from './ledger.ts'

export const retrieveRefund: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  return requireRefund(sandbox, id)
}

export const listRefunds: Operation = async (sandbox, { form, path }) => {
  const { payment_intent, charge, created, ...page } = readParameters(form, {
    ...pageable,
    payment_intent: text(),
    charge: text(),
    created: createdRange,
  })
  return readPage(sandbox, 'refund', path, page, { where: { payment_intent, charge }, created })
}

export const updateRefund: Operation = async (sandbox, { id, form }) => {
  const given = readParameters(form, { metadata: metadata() })
  const refund = await requireRefund(sandbox, id)
  const entries = mergeMetadata(refund.metadata, given.metadata)
  return changeRefund(sandbox, refund, { metadata: entries })
}

/** The API cancels only what waits for the customer; the controls cancel pending refunds too. */
export const cancelRefundCall: Operation = async (sandbox, { id, form }) => {
  readParameters(form, {})
  const { status } = await requireRefund(sandbox, id)
  if (status !== 'requires_action')
    throw requestRefused(`Refunds with a status of ${status} cannot be canceled.`)
  return cancelRefund(sandbox, id)
}

/** The money has reached the customer. */
export async function settleRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action'])
  return changeRefund(sandbox, refund, { status: 'succeeded', pending_reason: undefined })
}

/** The customer's bank refused it, perhaps after it had seemed to succeed: the money is back. */
export async function failRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action', 'succeeded'])
  const returned = await takeMoneyBack(sandbox, refund)
  const failed = await changeRefund(sandbox, refund, {
    status: 'failed',
    failure_reason: 'lost_or_stolen_card',
    failure_balance_transaction: returned,
    pending_reason: undefined,
  })
  await recordEvent(sandbox, 'refund.failed', failed)
  return failed
}

export async function cancelRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action'])
  const returned = await takeMoneyBack(sandbox, refund)
  const canceled = { status: 'canceled', failure_balance_transaction: returned } as const
  return changeRefund(sandbox, refund, { ...canceled, pending_reason: undefined })
}

async function requireRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await findObject(sandbox.db, 'refund', id)
  if (!refund) throw resourceMissing('refund', id)
  return refund
}

async function takeRefund(
  sandbox: Sandbox,
  id: string,
  states: Refund['status'][],
): Promise<Refund> {
  const refund = await requireRefund(sandbox, id)
  if (!states.includes(refund.status))
    throw requestRefused(`This is not possible for a refund with a status of ${refund.status}.`)
  await deleteTimersOf(sandbox.db, id)
  return refund
}

async function changeRefund(
  sandbox: Sandbox,
  refund: Refund,
  changed: Partial<Refund>,
): Promise<Refund> {
  const next = { ...refund, ...changed }
  const previous = 'status' in changed ? { status: refund.status } : { metadata: refund.metadata }
  await updateObject(sandbox.db, next)
  await recordEvent(sandbox, 'refund.updated', next, { previous })
  await recordEvent(sandbox, 'charge.refund.updated', next, { previous })
  return next
}

async function takeMoneyBack(sandbox: Sandbox, refund: Refund): Promise<string> {
  const { amount, currency, id: source } = refund
  const charge = await requireCharge(sandbox, refund.charge)
  const amount_refunded = charge.amount_refunded - amount
  await updateObject(sandbox.db, { ...charge, amount_refunded, refunded: false })
  return enterInLedger(sandbox, { amount, currency, source, type: 'refund_failure' })
}
