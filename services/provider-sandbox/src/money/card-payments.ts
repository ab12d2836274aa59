import { requestRefused } from '../api/provider-errors.ts'
import { completeSession, requireOpenSession } from '../checkout/checkout-sessions.ts'
import type { CheckoutSession, PaymentError, PaymentIntent } from '../objects/object-kinds.ts'
import type { Sandbox } from '../sandbox.ts'
import { beginCharge, failCharge, requireCharge, settleCharge } from './charges.ts'
import { beginPayment, changeIntent, requirePaymentIntent } from './payment-intents.ts'
import { behaviourOfCard, cardDetails } from './payment-methods.ts'

export type PaymentOutcome =
  | { state: 'paid' | 'processing' | 'challenge' }
  | { state: 'declined'; error: PaymentError }

/** The customer pays by card. A declined card leaves the session open for another try. */
export async function payByCard(
  sandbox: Sandbox,
  sessionId: string,
  number: string,
  expiry?: string,
): Promise<PaymentOutcome> {
  const session = await requireOpenSession(sandbox, sessionId)
  if (session.amount_total === 0) return completeForNothing(sandbox, session)
  const behaviour = behaviourOfCard(number, isOver(expiry, sandbox.clock()))
  const intent = await beginPayment(sandbox, session)
  const charge = await beginCharge(sandbox, session, intent, cardDetails(number))
  const tried = { ...intent, latest_charge: charge.id, payment_method: charge.payment_method }

  if (behaviour.error) return decline(sandbox, tried, behaviour.error)
  if (behaviour.challenge) return askBank(sandbox, session, tried)
  return takeMoney(sandbox, sessionId, tried)
}

/** Whether a card that is good through `MM/YY` is no longer good. */
function isOver(expiry: string | undefined, now: Date): boolean {
  const [, month, year] = /^(\d\d)\/(\d\d)$/.exec(expiry ?? '') ?? []
  if (month === undefined || year === undefined) return expiry !== undefined
  return now >= new Date(Date.UTC(2000 + Number(year), Number(month)))
}

/** Nothing to pay, so no payment intent either. */
export async function completeForNothing(
  sandbox: Sandbox,
  session: CheckoutSession,
): Promise<PaymentOutcome> {
  await completeSession(sandbox, session.id, 'no_payment_required')
  return { state: 'paid' }
}

/** The customer has answered the bank's question. */
export async function answerChallenge(
  sandbox: Sandbox,
  sessionId: string,
  accepted: boolean,
): Promise<PaymentOutcome> {
  const { payment_intent: id } = await requireOpenSession(sandbox, sessionId)
  const intent = id === null ? undefined : await requirePaymentIntent(sandbox, id)
  if (intent?.status !== 'requires_action') throw requestRefused('The bank is not asking anything.')
  const answered = { ...intent, next_action: null }
  return accepted
    ? takeMoney(sandbox, sessionId, answered)
    : decline(sandbox, answered, CHALLENGE_FAILED)
}

const CHALLENGE_FAILED: PaymentError = {
  type: 'invalid_request_error',
  code: 'payment_intent_authentication_failure',
  message: 'Your bank could not verify that it is you. Please choose another way to pay.',
}

async function takeMoney(
  sandbox: Sandbox,
  sessionId: string,
  intent: PaymentIntent,
): Promise<PaymentOutcome> {
  await settleCharge(sandbox, await requireCharge(sandbox, intent.latest_charge))
  await succeed(sandbox, intent)
  await completeSession(sandbox, sessionId, 'paid')
  return { state: 'paid' }
}

export async function succeed(sandbox: Sandbox, intent: PaymentIntent): Promise<void> {
  const succeeded = {
    status: 'succeeded',
    amount_received: intent.amount,
    last_payment_error: null,
  } as const
  await changeIntent(sandbox, intent, succeeded, 'payment_intent.succeeded')
}

/** The charge fails and the payment intent waits for another method. */
export async function decline(
  sandbox: Sandbox,
  intent: PaymentIntent,
  error: PaymentError,
): Promise<PaymentOutcome> {
  await failCharge(sandbox, await requireCharge(sandbox, intent.latest_charge), error)
  const declined = { status: 'requires_payment_method', last_payment_error: error } as const
  await changeIntent(sandbox, intent, declined, 'payment_intent.payment_failed')
  return { state: 'declined', error }
}

async function askBank(
  sandbox: Sandbox,
  session: CheckoutSession,
  intent: PaymentIntent,
): Promise<PaymentOutcome> {
  const url = `${sandbox.publicUrl()}/pay/${session.id}/challenge`
  const asking = {
    status: 'requires_action',
    next_action: { type: 'redirect_to_url', redirect_to_url: { url } },
  } as const
  await changeIntent(sandbox, intent, asking, 'payment_intent.requires_action')
  return { state: 'challenge' }
}
