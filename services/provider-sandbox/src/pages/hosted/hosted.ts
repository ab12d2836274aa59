import { Problem } from '@plinth/kit'
import { answerChallenge, payByBank, payByCard } from '../../resources/checkout/paying.ts'
import { expireSession, listLineItems } from '../../resources/checkout/sessions.ts'
import { runTimers } from '../../resources/timers.ts'
import type { CheckoutSession, PaymentIntent } from '../../state/object-kinds.ts'
import { findObject } from '../../state/objects.repository.ts'
import { change, type Sandbox } from '../../state/sandbox.ts'
import type { Page } from '../layout.ts'
import { challengePage, checkoutPage, finishedPage } from './pages.ts'

export async function findSession(
  sandbox: Sandbox,
  id: string,
): Promise<CheckoutSession | undefined> {
  await runTimers(sandbox)
  return findObject(sandbox.db, 'checkout.session', id)
}

/** The page for a session as it is now. */
export async function pageFor(sandbox: Sandbox, session: CheckoutSession): Promise<Page> {
  if (session.status !== 'open') return finishedPage(session)
  const intent = await intentOf(sandbox, session)
  if (intent?.status === 'requires_action') return challengePage(session)
  const { data: items } = await listLineItems(sandbox, session.id)
  const { bankDebitSeconds } = sandbox.config
  return checkoutPage({
    session,
    items,
    error: intent?.last_payment_error ?? null,
    bankDebitSeconds,
  })
}

async function intentOf(
  sandbox: Sandbox,
  { payment_intent: id }: CheckoutSession,
): Promise<PaymentIntent | undefined> {
  return id === null ? undefined : findObject(sandbox.db, 'payment_intent', id)
}

export type Step = (sandbox: Sandbox, id: string) => Promise<unknown>

/**
 * One step of the customer. When another tab or an impatient second click has already finished the
 * session, the step is refused and nothing is left to do but show how it ended.
 */
export async function takeStep(sandbox: Sandbox, id: string, step: Step): Promise<void> {
  try {
    await runTimers(sandbox)
    await change(sandbox, (inside) => step(inside, id))
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
  }
}

export const stepByCard =
  (number: string, expiry: string): Step =>
  (sandbox, id) =>
    payByCard(sandbox, id, number.replaceAll(/\s/g, ''), expiry.replaceAll(/\s/g, ''))

export const stepByBank =
  (account: string): Step =>
  (sandbox, id) =>
    payByBank(sandbox, id, account.replaceAll(/\s/g, ''))

export const stepAnswering =
  (accepted: boolean): Step =>
  (sandbox, id) =>
    answerChallenge(sandbox, id, accepted)

export const stepExpiring: Step = expireSession
