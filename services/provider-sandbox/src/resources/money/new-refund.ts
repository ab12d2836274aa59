import { secondsAfter } from '@plinth/kit'
import { parameterInvalid, requestRefused, resourceMissing } from '../../protocol/errors.ts'
import type { Operation } from '../../protocol/operation.ts'
import {
  choice,
  integer,
  mergeMetadata,
  metadata,
  readParameters,
  text,
} from '../../protocol/parameters.ts'
import type { Charge, Refund } from '../../state/object-kinds.ts'
import { findObject, insertObject, updateObject } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'
import { readSwitches } from '../../state/switches.ts'
import { insertTimer } from '../timers.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { checkStep, formatAmount } from './currencies.ts'
import { enterInLedger } from './ledger.ts'
import { behaviourOf } from './payment-methods.ts'

const refundFields = {
  payment_intent: text(),
  charge: text(),
  amount: integer({ min: 1 }),
  reason: choice(['duplicate', 'fraudulent', 'requested_by_customer']),
  metadata: metadata(),
}

export const createRefund: Operation = async (sandbox, { form }) => {
  const given = readParameters(form, refundFields)
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
  return giveMoneyBack(sandbox, charge, { ...given, amount })
}

type GivenRefund = ReturnType<typeof readParameters<typeof refundFields>>

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

type Course = { status: Refund['status']; later?: 'settle-refund' | 'fail-refund' }

const COURSES: Record<string, Course> = {
  succeed: { status: 'succeeded' },
  pending: { status: 'pending', later: 'settle-refund' },
  'requires-action': { status: 'requires_action' },
  'fail-later': { status: 'succeeded', later: 'fail-refund' },
}

/** How this refund goes: by the switch, or else by the card that paid. */
async function courseOf(sandbox: Sandbox, charge: Charge): Promise<Course> {
  const { refunds } = await readSwitches(sandbox.db)
  const byMethod = behaviourOf(charge.payment_method_details)?.refunds ?? 'succeed'
  return COURSES[refunds === 'by-method' ? byMethod : refunds] ?? { status: 'succeeded' }
}

async function giveMoneyBack(
  sandbox: Sandbox,
  charge: Charge,
  given: GivenRefund & { amount: number },
): Promise<Refund> {
  const course = await courseOf(sandbox, charge)
  const refund = await describeRefund(sandbox, charge, given, course.status)
  await insertObject(sandbox.db, refund, { parent: charge.id })
  const amount_refunded = charge.amount_refunded + refund.amount
  const refunded = { ...charge, amount_refunded, refunded: amount_refunded === charge.amount }
  await updateObject(sandbox.db, refunded)
  await recordEvent(sandbox, 'refund.created', refund)
  await recordEvent(sandbox, 'charge.refunded', refunded)
  const settlesAt = secondsAfter(sandbox.clock(), sandbox.config.refundSeconds)
  if (course.later) await insertTimer(sandbox.db, course.later, refund.id, settlesAt)
  return refund
}

async function describeRefund(
  sandbox: Sandbox,
  charge: Charge,
  { amount, reason, metadata }: GivenRefund & { amount: number },
  status: Refund['status'],
): Promise<Refund> {
  const id = await newId(sandbox, charge.payment_method_details.type === 'card' ? 're' : 'pyr')
  const { currency } = charge
  const entry = { amount: -amount, currency, source: id, type: 'refund' } as const
  return {
    id,
    object: 'refund',
    amount,
    balance_transaction: await enterInLedger(sandbox, entry),
    charge: charge.id,
    created: secondsOf(sandbox.clock()),
    currency,
    customer: charge.customer,
    destination_details: { type: charge.payment_method_details.type },
    metadata: mergeMetadata({}, metadata),
    payment_intent: charge.payment_intent,
    payment_method: charge.payment_method,
    ...(status === 'pending' && { pending_reason: 'processing' }),
    reason: reason ?? null,
    receipt_number: null,
    source_transfer_reversal: null,
    status,
    transfer_reversal: null,
  }
}
