import { secondsAfter } from '@plinth/kit/runtime'
import { requestRefused } from '../../protocol/errors.ts'
import { linkedObject } from '../../protocol/operations.ts'
import type { CheckoutSession } from '../../state/objects/kinds.ts'
import type { PaymentError, PaymentIntent } from '../../state/objects/money.ts'
import { findParent } from '../../state/objects/objects.repository.ts'
import type { Sandbox } from '../../state/sandbox.ts'
import { beginCharge, failCharge, settleCharge } from '../money/charges.ts'
import { beginPayment, changeIntent } from '../money/payment-intents.ts'
import {
  accountDetails,
  behaviourOf,
  behaviourOfAccount,
  behaviourOfCard,
  cardDetails,
} from '../money/payment-methods.ts'
import { deleteTimersOf, insertTimer } from '../timers.repository.ts'
import { changeObject, recordEvent } from '../webhooks/events.ts'
import { completeSession, requireOpenSession } from './sessions.ts'

export type PaymentOutcome =
  | { state: 'paid' | 'processing' | 'challenge' }
  | { state: 'declined'; error: PaymentError }

/** The customer pays by card. A declined card leaves the session open for another try. */
export async function payByCard(
  sandbox: Sandbox,
  sessionId: string,
  number: string,
  expiry = '12/60',
): Promise<PaymentOutcome> {
  const session = await requireOpenSession(sandbox, sessionId)
  if (session.amount_total === 0) return completeForNothing(sandbox, sessionId)
  const behaviour = behaviourOfCard(number, isExpired(expiry, sandbox.clock()))
  const intent = await beginPayment(sandbox, session)
  const charge = await beginCharge(sandbox, session, intent, cardDetails(number, expiry))
  const tried = { ...intent, latest_charge: charge.id, payment_method: charge.payment_method }

  if (behaviour.error) return decline(sandbox, tried, behaviour.error)
  if (behaviour.challenge) return askBank(sandbox, sessionId, tried)
  return takeMoney(sandbox, sessionId, tried)
}

/** Whether a card that is valid through `MM/YY` has expired. */
function isExpired(expiry: string, now: Date): boolean {
  const [, month, year] = /^(0[1-9]|1[0-2])\/(\d\d)$/.exec(expiry) ?? []
  return !month || !year || now >= new Date(Date.UTC(2000 + Number(year), Number(month)))
}

/** Nothing to pay, so no payment intent either. */
async function completeForNothing(sandbox: Sandbox, sessionId: string): Promise<PaymentOutcome> {
  await completeSession(sandbox, sessionId, 'no_payment_required')
  return { state: 'paid' }
}

async function takeMoney(
  sandbox: Sandbox,
  sessionId: string,
  intent: PaymentIntent,
): Promise<PaymentOutcome> {
  await succeed(sandbox, intent)
  await completeSession(sandbox, sessionId, 'paid')
  return { state: 'paid' }
}

async function succeed(sandbox: Sandbox, intent: PaymentIntent): Promise<void> {
  await settleCharge(sandbox, await linkedObject(sandbox, 'charge', intent.latest_charge))
  await changeIntent(sandbox, intent, 'payment_intent.succeeded', {
    status: 'succeeded',
    amount_received: intent.amount,
    last_payment_error: null,
  })
}

/** The charge fails and the payment intent waits for another method. */
async function decline(
  sandbox: Sandbox,
  intent: PaymentIntent,
  error: PaymentError,
): Promise<PaymentOutcome> {
  await failCharge(sandbox, await linkedObject(sandbox, 'charge', intent.latest_charge), error)
  await changeIntent(sandbox, intent, 'payment_intent.payment_failed', {
    status: 'requires_payment_method',
    last_payment_error: error,
  })
  return { state: 'declined', error }
}

async function askBank(
  sandbox: Sandbox,
  sessionId: string,
  intent: PaymentIntent,
): Promise<PaymentOutcome> {
  const url = `${sandbox.publicUrl()}/pay/${sessionId}/challenge`
  await changeIntent(sandbox, intent, 'payment_intent.requires_action', {
    status: 'requires_action',
    next_action: { type: 'redirect_to_url', redirect_to_url: { url, return_url: null } },
  })
  return { state: 'challenge' }
}

const CHALLENGE_FAILED: PaymentError = {
  type: 'invalid_request_error',
  code: 'payment_intent_authentication_failure',
  message: 'Your bank could not verify that it is you. Please choose another way to pay.',
}

/** The customer has answered the bank's question. */
export async function answerChallenge(
  sandbox: Sandbox,
  sessionId: string,
  accepted: boolean,
): Promise<PaymentOutcome> {
  const { payment_intent: id } = await requireOpenSession(sandbox, sessionId)
  const intent = id === null ? undefined : await linkedObject(sandbox, 'payment_intent', id)
  if (intent?.status !== 'requires_action') throw requestRefused('The bank has not asked anything.')
  const answered = { ...intent, next_action: null }
  return accepted
    ? takeMoney(sandbox, sessionId, answered)
    : decline(sandbox, answered, CHALLENGE_FAILED)
}

/**
 * The customer agrees to a bank debit: the session is complete, the money arrives later or never.
 * With a delay of null it waits for `settlePayment` or `failPayment`.
 */
export async function payByBank(
  sandbox: Sandbox,
  sessionId: string,
  account: string,
  delaySeconds: number | null = sandbox.config.bankDebitSeconds,
): Promise<PaymentOutcome> {
  const session = await requireOpenSession(sandbox, sessionId)
  if (session.amount_total === 0) return completeForNothing(sandbox, sessionId)
  const intent = await beginPayment(sandbox, session)
  const charge = await beginCharge(sandbox, session, intent, accountDetails(account))
  await recordEvent(sandbox, 'charge.pending', charge)
  await changeIntent(sandbox, intent, 'payment_intent.processing', {
    status: 'processing',
    latest_charge: charge.id,
    payment_method: charge.payment_method,
    last_payment_error: null,
  })
  await completeSession(sandbox, sessionId, 'unpaid')

  const action = behaviourOfAccount(account).error ? 'fail-payment' : 'settle-payment'
  if (delaySeconds !== null)
    await insertTimer(sandbox.db, action, intent.id, secondsAfter(sandbox.clock(), delaySeconds))
  return { state: 'processing' }
}

/** The money of a bank debit has arrived. */
export async function settlePayment(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  await succeed(sandbox, await takeProcessing(sandbox, intentId))
  const paid = { ...(await sessionOf(sandbox, intentId)), payment_status: 'paid' } as const
  await changeObject(sandbox, paid, 'checkout.session.async_payment_succeeded')
  return paid
}

const RETURNED: PaymentError = {
  type: 'invalid_request_error',
  code: 'debit_not_authorized',
  message: 'The bank returned the debit.',
}

/** The debit is returned. The session itself stays as it was: complete and unpaid. */
export async function failPayment(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  const intent = await takeProcessing(sandbox, intentId)
  const charge = await linkedObject(sandbox, 'charge', intent.latest_charge)
  await decline(sandbox, intent, behaviourOf(charge.payment_method_details)?.error ?? RETURNED)
  const session = await sessionOf(sandbox, intentId)
  await recordEvent(sandbox, 'checkout.session.async_payment_failed', session)
  return session
}

async function takeProcessing(sandbox: Sandbox, intentId: string): Promise<PaymentIntent> {
  const intent = await linkedObject(sandbox, 'payment_intent', intentId)
  if (intent.status !== 'processing')
    throw requestRefused(
      `Only a processing payment can settle or fail; this one is ${intent.status}.`,
    )
  await deleteTimersOf(sandbox.db, intentId)
  return intent
}

async function sessionOf(sandbox: Sandbox, intentId: string): Promise<CheckoutSession> {
  const id = await findParent(sandbox.db, intentId)
  return linkedObject(sandbox, 'checkout.session', id ?? null)
}
