import { linkedObject } from '../../protocol/operations.ts'
import type { CheckoutSession } from '../../state/objects/kinds.ts'
import { PAYMENT_INTENT, type PaymentIntent } from '../../state/objects/money.ts'
import {
  findWithHidden,
  insertObject,
  updateObject,
} from '../../state/objects/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newObject, seededText } from '../../state/seeded.ts'
import { changeObject, recordEvent } from '../webhooks/events.ts'

/** A session has no payment intent until the customer first tries to pay. */
export async function beginPayment(
  sandbox: Sandbox,
  session: CheckoutSession,
): Promise<PaymentIntent> {
  if (session.payment_intent !== null) {
    const begun = await linkedObject(sandbox, 'payment_intent', session.payment_intent)
    return { ...begun, next_action: null }
  }
  const intent = await describeIntent(sandbox, session)
  await insertObject(sandbox.db, intent, { parent: session.id })
  await updateObject(sandbox.db, { ...session, payment_intent: intent.id })
  await recordEvent(sandbox, 'payment_intent.created', intent)
  return intent
}

async function describeIntent(
  sandbox: Sandbox,
  { id: sessionId, amount_total, currency, customer, payment_method_types }: CheckoutSession,
): Promise<PaymentIntent> {
  const stored = await findWithHidden(sandbox.db, 'checkout.session', sessionId)
  const { description = null, metadata = {}, ...rest } = stored?.hidden ?? {}
  const { receipt_email = null, statement_descriptor = null } = rest
  const { id, created } = await newObject(sandbox, 'pi')
  return {
    id,
    created,
    ...PAYMENT_INTENT,
    amount: amount_total,
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    client_secret: `${id}_secret_${seededText(sandbox.config.seed, `${id}:secret`, 25)}`,
    currency,
    customer,
    description,
    last_payment_error: null,
    latest_charge: null,
    metadata,
    next_action: null,
    payment_method: null,
    payment_method_types,
    receipt_email,
    statement_descriptor,
    status: 'requires_payment_method',
  }
}

export async function changeIntent(
  sandbox: Sandbox,
  intent: PaymentIntent,
  event: string,
  changed: Partial<PaymentIntent>,
): Promise<void> {
  await changeObject(sandbox, { ...intent, ...changed }, event)
}

export async function cancelPaymentIntent(sandbox: Sandbox, id: string): Promise<void> {
  const intent = await linkedObject(sandbox, 'payment_intent', id)
  await changeIntent(sandbox, intent, 'payment_intent.canceled', {
    status: 'canceled',
    canceled_at: secondsOf(sandbox.clock()),
    cancellation_reason: 'automatic',
    next_action: null,
  })
}
