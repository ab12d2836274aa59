import type {
  Charge,
  CheckoutSession,
  PaymentError,
  PaymentIntent,
  PaymentMethodDetails,
} from '../../state/object-kinds.ts'
import { findObject, insertObject, updateObject } from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId } from '../../state/seeded.ts'
import { recordEvent } from '../webhooks/events.ts'
import { enterInLedger } from './ledger.ts'

/** One attempt to take money, pending until it is settled or has failed. */
export async function beginCharge(
  sandbox: Sandbox,
  session: CheckoutSession,
  intent: PaymentIntent,
  details: PaymentMethodDetails,
): Promise<Charge> {
  const charge: Charge = {
    id: await newId(sandbox, details.type === 'card' ? 'ch' : 'py'),
    object: 'charge',
    amount: intent.amount,
    amount_captured: 0,
    amount_refunded: 0,
    balance_transaction: null,
    billing_details: { email: session.customer_email, name: null, phone: null },
    captured: false,
    created: secondsOf(sandbox.clock()),
    currency: intent.currency,
    customer: intent.customer,
    description: intent.description,
    disputed: false,
    failure_balance_transaction: null,
    failure_code: null,
    failure_message: null,
    livemode: false,
    metadata: intent.metadata,
    outcome: null,
    paid: false,
    payment_intent: intent.id,
    payment_method: await newId(sandbox, 'pm'),
    payment_method_details: details,
    receipt_email: intent.receipt_email,
    refunded: false,
    status: 'pending',
  }
  await insertObject(sandbox.db, charge, { parent: intent.id })
  return charge
}

/** The money has come in. */
export async function settleCharge(sandbox: Sandbox, charge: Charge): Promise<Charge> {
  const { id: source, amount, currency } = charge
  const type = charge.payment_method_details.type === 'card' ? 'charge' : 'payment'
  const settled: Charge = {
    ...charge,
    amount_captured: amount,
    balance_transaction: await enterInLedger(sandbox, { amount, currency, source, type }),
    captured: true,
    outcome: { network_status: 'approved_by_network', reason: null, type: 'authorized' },
    paid: true,
    status: 'succeeded',
  }
  await updateObject(sandbox.db, settled)
  await recordEvent(sandbox, 'charge.succeeded', settled)
  return settled
}

export async function failCharge(
  sandbox: Sandbox,
  charge: Charge,
  error: PaymentError,
): Promise<Charge> {
  const reason = error.decline_code ?? error.code
  const failed: Charge = {
    ...charge,
    failure_code: error.code,
    failure_message: error.message,
    outcome: { network_status: 'declined_by_network', reason, type: 'issuer_declined' },
    status: 'failed',
  }
  await updateObject(sandbox.db, failed)
  await recordEvent(sandbox, 'charge.failed', failed)
  return failed
}

export async function requireCharge(sandbox: Sandbox, id: string | null): Promise<Charge> {
  const charge = id === null ? undefined : await findObject(sandbox.db, 'charge', id)
  if (!charge) throw new Error(`The charge ${id} of a payment is missing.`)
  return charge
}
