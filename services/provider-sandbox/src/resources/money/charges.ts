import type { CheckoutSession } from '../../state/objects/kinds.ts'
import { nulls } from '../../state/objects/members.ts'
import {
  CHARGE,
  type Charge,
  OUTCOME,
  type PaymentError,
  type PaymentIntent,
  type PaymentMethodDetails,
} from '../../state/objects/money.ts'
import { insertObject } from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { newId, newObject } from '../../state/seeded.ts'
import { changeObject } from '../webhooks/events.ts'
import { enterInLedger } from './ledger.ts'

/** One attempt to take money, pending until it is settled or has failed. */
export async function beginCharge(
  sandbox: Sandbox,
  session: CheckoutSession,
  intent: PaymentIntent,
  details: PaymentMethodDetails,
): Promise<Charge> {
  const { amount, currency, customer, description, metadata, receipt_email } = intent
  const charge: Charge = {
    ...(await newObject(sandbox, details.type === 'card' ? 'ch' : 'py')),
    ...CHARGE,
    amount,
    amount_captured: 0,
    amount_refunded: 0,
    balance_transaction: null,
    billing_details: { ...nulls('address name phone tax_id'), email: session.customer_email },
    captured: false,
    currency,
    customer,
    description,
    failure_code: null,
    failure_message: null,
    metadata,
    outcome: null,
    paid: false,
    payment_intent: intent.id,
    payment_method: await newId(sandbox, 'pm'),
    payment_method_details: details,
    receipt_email,
    refunded: false,
    status: 'pending',
  }
  await insertObject(sandbox.db, charge, { parent: session.id })
  return charge
}

/** The money has arrived. */
export async function settleCharge(sandbox: Sandbox, charge: Charge): Promise<void> {
  const { id: source, amount, currency } = charge
  const type = charge.payment_method_details.type === 'card' ? 'charge' : 'payment'
  const settled: Charge = {
    ...charge,
    amount_captured: amount,
    balance_transaction: await enterInLedger(sandbox, { amount, currency, source, type }),
    captured: true,
    outcome: {
      ...OUTCOME,
      network_status: 'approved_by_network',
      reason: null,
      type: 'authorized',
    },
    paid: true,
    status: 'succeeded',
  }
  await changeObject(sandbox, settled, 'charge.succeeded')
}

export async function failCharge(sandbox: Sandbox, charge: Charge, error: PaymentError) {
  const reason = error.decline_code ?? error.code
  const failed: Charge = {
    ...charge,
    failure_code: error.code,
    failure_message: error.message,
    outcome: { ...OUTCOME, network_status: 'declined_by_network', reason, type: 'issuer_declined' },
    status: 'failed',
  }
  await changeObject(sandbox, failed, 'charge.failed')
}
