import { secondsAfter } from '@plinth/kit'
import { requestRefused } from '../api/provider-errors.ts'
import {
  completeSession,
  requireOpenSession,
  requireSession,
} from '../checkout/checkout-sessions.ts'
import type { CheckoutSession, PaymentError, PaymentIntent } from '../objects/object-kinds.ts'
import { findParent, updateObject } from '../objects/objects.repository.ts'
import type { Sandbox } from '../sandbox.ts'
import { deleteTimersOf, insertTimer } from '../time/timers.repository.ts'
import { recordEvent } from '../webhooks/events.ts'
import { completeForNothing, decline, type PaymentOutcome, succeed } from './card-payments.ts'
import { beginCharge, requireCharge, settleCharge } from './charges.ts'
import { beginPayment, changeIntent, requirePaymentIntent } from './payment-intents.ts'
import { accountDetails, behaviourOf, behaviourOfAccount } from './payment-methods.ts'

/**
 * The customer agrees to a bank debit: the session is complete, the money comes later or never.
 * A delay of null means that it waits until someone decides.
 */
export async function payByBank(
  sandbox: Sandbox,
  sessionId: string,
  account: string,
  delaySeconds: number | null = sandbox.config.bankDebitSeconds,
): Promise<PaymentOutcome> {
  const session = await requireOpenSession(sandbox, sessionId)
  if (session.amount_total === 0) return completeForNothing(sandbox, session)
  const intent = await beginPayment(sandbox, session)
  const charge = await beginCharge(sandbox, session, intent, accountDetails(account))
  await recordEvent(sandbox, 'charge.pending', charge)
  const processing = {
    status: 'processing',
    latest_charge: charge.id,
    payment_method: charge.payment_method,
    last_payment_error: null,
  } as const
  await changeIntent(sandbox, intent, processing, 'payment_intent.processing')
  await completeSession(sandbox, sessionId, 'unpaid')

  const action = behaviourOfAccount(account).error ? 'fail-payment' : 'settle-payment'
  if (delaySeconds !== null)
    await insertTimer(sandbox.db, action, intent.id, secondsAfter(sandbox.clock(), delaySeconds))
  return { state: 'processing' }
}

/** The money has come after all. */
export async function settlePayment(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  const intent = await takeProcessing(sandbox, intentId)
  await settleCharge(sandbox, await requireCharge(sandbox, intent.latest_charge))
  await succeed(sandbox, intent)
  const session = await sessionOf(sandbox, intentId)
  const paid: CheckoutSession = { ...session, payment_status: 'paid' }
  await updateObject(sandbox.db, paid)
  await recordEvent(sandbox, 'checkout.session.async_payment_succeeded', paid)
  return paid
}

/** The debit is returned. The session itself stays as it was: complete and unpaid. */
export async function failPayment(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  const intent = await takeProcessing(sandbox, intentId)
  const charge = await requireCharge(sandbox, intent.latest_charge)
  await decline(sandbox, intent, behaviourOf(charge.payment_method_details)?.error ?? RETURNED)
  const session = await sessionOf(sandbox, intentId)
  await recordEvent(sandbox, 'checkout.session.async_payment_failed', session)
  return session
}

const RETURNED: PaymentError = {
  type: 'invalid_request_error',
  code: 'debit_not_authorized',
  message: 'The bank returned the debit.',
}

async function takeProcessing(sandbox: Sandbox, intentId: string): Promise<PaymentIntent> {
  const intent = await requirePaymentIntent(sandbox, intentId)
  if (intent.status !== 'processing')
    throw requestRefused(
      `Only a processing payment can settle or fail; this one is ${intent.status}.`,
    )
  await deleteTimersOf(sandbox.db, intentId)
  return intent
}

async function sessionOf(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  return requireSession(sandbox, (await findParent(sandbox.db, intentId)) ?? '')
}
