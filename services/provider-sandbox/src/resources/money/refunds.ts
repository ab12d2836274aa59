import { secondsAfter } from '@plinth/kit/runtime'
import { parameterInvalid, requestRefused, resourceMissing } from '../../protocol/errors.ts'
import { linkedObject, type Operation, requireObject } from '../../protocol/operations.ts'
import * as read from '../../protocol/parameters.ts'
import { mergeMetadata } from '../../state/objects/members.ts'
import { type Charge, REFUND, type Refund } from '../../state/objects/money.ts'
import {
  findObject,
  findParent,
  insertObject,
  updateObject,
} from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { newObject } from '../../state/seeded.ts'
import { readSwitches, type Switches } from '../../state/switches.ts'
import { deleteTimersOf, insertTimer, type TimerAction } from '../timers.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { checkStep, formatAmount } from './currencies.ts'
import { enterInLedger } from './ledger.ts'
import { behaviourOf } from './payment-methods.ts'

const refundFields = {
  payment_intent: read.text(),
  charge: read.text(),
  amount: read.integer({ min: 1 }),
  reason: read.choice(['duplicate', 'fraudulent', 'requested_by_customer']),
  metadata: read.metadata(),
}

type GivenRefund = ReturnType<typeof read.parameters<typeof refundFields>>

export const createRefund: Operation = async (sandbox, { form }) => {
  const given = read.parameters(form, refundFields)
  const charge = await findChargeToRefund(sandbox, given)
  const left = charge.amount - charge.amount_refunded
  if (left === 0)
    throw requestRefused(
      `Charge ${charge.id} has already been refunded.`,
      'charge_already_refunded',
    )
  const amount = given.amount ?? left
  checkStep(amount, charge.currency, 'amount')
  if (amount > left)
    throw requestRefused(
      `Refund amount (${formatAmount(amount, charge.currency)}) is greater than unrefunded amount on charge (${formatAmount(left, charge.currency)})`,
      undefined,
      'amount',
    )
  return refundCharge(sandbox, charge, { ...given, amount })
}

async function findChargeToRefund(sandbox: Sandbox, given: GivenRefund): Promise<Charge> {
  const named = given.payment_intent ?? given.charge
  if (named === undefined)
    throw parameterInvalid(
      'payment_intent',
      'One of the following params should be provided for this request: payment_intent or charge.',
      'parameter_missing',
    )
  const id = given.payment_intent ? await chargeOf(sandbox, given.payment_intent) : given.charge
  const charge = await findObject(sandbox.db, 'charge', id ?? '')
  if (given.charge !== undefined && charge?.id !== given.charge)
    throw resourceMissing('charge', given.charge, 'charge')
  if (charge?.status !== 'succeeded')
    throw requestRefused(`This payment (${named}) does not have a successful charge to refund.`)
  return charge
}

async function chargeOf(sandbox: Sandbox, intentId: string): Promise<string | null> {
  const intent = await findObject(sandbox.db, 'payment_intent', intentId)
  if (!intent) throw resourceMissing('payment_intent', intentId, 'payment_intent')
  return intent.latest_charge
}

async function refundCharge(
  sandbox: Sandbox,
  charge: Charge,
  given: GivenRefund & { amount: number },
): Promise<Refund> {
  const { status, later } = await outcomeOf(sandbox, charge)
  const refund = await describeRefund(sandbox, charge, given, status)
  await insertObject(sandbox.db, refund, { parent: await findParent(sandbox.db, charge.id) })
  const amount_refunded = charge.amount_refunded + refund.amount
  const refunded = { ...charge, amount_refunded, refunded: amount_refunded === charge.amount }
  await updateObject(sandbox.db, refunded)
  await recordEvent(sandbox, 'refund.created', refund)
  await recordEvent(sandbox, 'charge.refunded', refunded)
  const settlesAt = secondsAfter(sandbox.clock(), sandbox.config.refundSeconds)
  if (later) await insertTimer(sandbox.db, later, refund.id, settlesAt)
  return refund
}

type Outcome = { status: Refund['status']; later?: TimerAction }

const OUTCOMES: Record<Exclude<Switches['refunds'], 'by-method'>, Outcome> = {
  succeed: { status: 'succeeded' },
  pending: { status: 'pending', later: 'settle-refund' },
  'requires-action': { status: 'requires_action' },
  'fail-later': { status: 'succeeded', later: 'fail-refund' },
}

/** How this refund turns out: the switch decides, or else the card that paid. */
async function outcomeOf(sandbox: Sandbox, charge: Charge): Promise<Outcome> {
  const { refunds } = await readSwitches(sandbox.db)
  const byMethod = behaviourOf(charge.payment_method_details)?.refunds ?? 'succeed'
  return OUTCOMES[refunds === 'by-method' ? byMethod : refunds]
}

async function describeRefund(
  sandbox: Sandbox,
  charge: Charge,
  given: GivenRefund & { amount: number },
  status: Refund['status'],
): Promise<Refund> {
  const { currency, customer, payment_intent, payment_method } = charge
  const { type } = charge.payment_method_details
  const { id, created } = await newObject(sandbox, type === 'card' ? 're' : 'pyr')
  const entry = { amount: -given.amount, currency, source: id, type: 'refund' } as const
  return {
    id,
    created,
    ...REFUND,
    amount: given.amount,
    balance_transaction: await enterInLedger(sandbox, entry),
    charge: charge.id,
    currency,
    customer,
    destination_details: { type },
    metadata: mergeMetadata({}, given.metadata),
    payment_intent,
    payment_method,
    ...(status === 'pending' && { pending_reason: 'processing' }),
    reason: given.reason ?? null,
    status,
  }
}

export const updateRefund: Operation = async (sandbox, { id, form }) => {
  const given = read.parameters(form, { metadata: read.metadata() })
  const refund = await requireObject(sandbox, 'refund', id)
  const entries = read.changedMetadata(refund.metadata, given.metadata)
  return changeRefund(sandbox, refund, { metadata: entries })
}

/** The API cancels only refunds that wait for the customer; the controls cancel pending ones too. */
export const cancelRefundCall: Operation = async (sandbox, { id, form }) => {
  read.parameters(form, {})
  const { status } = await requireObject(sandbox, 'refund', id)
  if (status !== 'requires_action')
    throw requestRefused(`Refunds with a status of ${status} cannot be canceled.`)
  return cancelRefund(sandbox, id)
}

/** The money has reached the customer. */
export async function settleRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action'])
  return changeRefund(sandbox, refund, { status: 'succeeded', pending_reason: undefined })
}

/** The customer's bank refused the refund, perhaps after it had succeeded: the money is returned. */
export async function failRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action', 'succeeded'])
  const failed = await changeRefund(sandbox, refund, {
    status: 'failed',
    failure_reason: 'lost_or_stolen_card',
    failure_balance_transaction: await returnMoney(sandbox, refund),
    pending_reason: undefined,
  })
  await recordEvent(sandbox, 'refund.failed', failed)
  return failed
}

export async function cancelRefund(sandbox: Sandbox, id: string): Promise<Refund> {
  const refund = await takeRefund(sandbox, id, ['pending', 'requires_action'])
  return changeRefund(sandbox, refund, {
    status: 'canceled',
    failure_balance_transaction: await returnMoney(sandbox, refund),
    pending_reason: undefined,
  })
}

async function takeRefund(
  sandbox: Sandbox,
  id: string,
  states: Refund['status'][],
): Promise<Refund> {
  const refund = await requireObject(sandbox, 'refund', id)
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

async function returnMoney(sandbox: Sandbox, refund: Refund): Promise<string> {
  const { amount, currency, id: source } = refund
  const charge = await linkedObject(sandbox, 'charge', refund.charge)
  const amount_refunded = charge.amount_refunded - amount
  await updateObject(sandbox.db, { ...charge, amount_refunded, refunded: false })
  return enterInLedger(sandbox, { amount, currency, source, type: 'refund_failure' })
}
