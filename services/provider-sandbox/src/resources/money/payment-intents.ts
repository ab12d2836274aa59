import type { CheckoutSession, PaymentIntent } from '../../state/object-kinds.ts'
import {
  findObject,
  findWithHidden,
  insertObject,
  updateObject,
} from '../../state/objects.repository.ts'
import { type Sandbox, secondsOf } from '../../state/sandbox.ts'
import { newId, seededText } from '../../state/seeded.ts'
import { recordEvent } from '../webhooks/events.ts'

/** What a session keeps for the payment intent that does not exist yet. */
type PaymentIntentData = {
  description?: string
  metadata?: Record<string, string>
  receipt_email?: string
  statement_descriptor?: string
}

/**
 * The payment intent of a session, made when the customer first tries to pay: until then a session
 * has none.
 */
export async function beginPayment(
  sandbox: Sandbox,
  session: CheckoutSession,
): Promise<PaymentIntent> {
  if (session.payment_intent !== null) {
    const begun = await requirePaymentIntent(sandbox, session.payment_intent)
    return { ...begun, next_action: null }
  }
  const wanted = await intentDataOf(sandbox, session.id)
  const id = await newId(sandbox, 'pi')
  const intent: PaymentIntent = {
    id,
    object: 'payment_intent',
    amount: session.amount_total,
    amount_capturable: 0,
    amount_received: 0,
    canceled_at: null,
    cancellation_reason: null,
    capture_method: 'automatic_async',
    client_secret: `${id}_secret_${seededText(sandbox.config.seed, `${id}:secret`, 25)}`,
    confirmation_method: 'automatic',
    created: secondsOf(sandbox.clock()),
    currency: session.currency,
    customer: session.customer,
    description: wanted.description ?? null,
    last_payment_error: null,
    latest_charge: null,
    livemode: false,
    metadata: wanted.metadata ?? {},
    next_action: null,
    payment_method: null,
    payment_method_types: session.payment_method_types,
    processing: null,
    receipt_email: wanted.receipt_email ?? null,
    statement_descriptor: wanted.statement_descriptor ?? null,
    status: 'requires_payment_method',
  }
  await insertObject(sandbox.db, intent, { parent: session.id })
  await updateObject(sandbox.db, { ...session, payment_intent: id })
  await recordEvent(sandbox, 'payment_intent.created', intent)
  return intent
}

async function intentDataOf(sandbox: Sandbox, sessionId: string): Promise<PaymentIntentData> {
  const session = await findWithHidden<'checkout.session', PaymentIntentData>(
    sandbox.db,
    'checkout.session',
    sessionId,
  )
  return session?.hidden ?? {}
}

export async function changeIntent(
  sandbox: Sandbox,
  intent: PaymentIntent,
  changed: Partial<PaymentIntent>,
  event: string,
): Promise<PaymentIntent> {
  const next = { ...intent, ...changed }
  await updateObject(sandbox.db, next)
  await recordEvent(sandbox, event, next)
  return next
}

export async function cancelPaymentIntent(sandbox: Sandbox, id: string): Promise<void> {
  const intent = await requirePaymentIntent(sandbox, id)
  const canceled = {
    status: 'canceled',
    canceled_at: secondsOf(sandbox.clock()),
    cancellation_reason: 'automatic',
    next_action: null,
  } as const
  await changeIntent(sandbox, intent, canceled, 'payment_intent.canceled')
}

export async function requirePaymentIntent(sandbox: Sandbox, id: string): Promise<PaymentIntent> {
  const intent = await findObject(sandbox.db, 'payment_intent', id)
  if (!intent) throw new Error(`The payment intent ${id} of a session is missing.`)
  return intent
}
