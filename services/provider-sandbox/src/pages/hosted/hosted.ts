import { Problem } from '@plinth/kit/problems'
import { linkedObject } from '../../protocol/operations.ts'
import { listLineItems } from '../../resources/checkout/sessions.ts'
import { runTimers } from '../../resources/timers.ts'
import type { CheckoutSession } from '../../state/objects/kinds.ts'
import { findObject } from '../../state/objects/objects.repository.ts'
import { change, type Sandbox } from '../../state/sandbox.ts'
import type { Page } from '../layout.ts'
import { challengePage, checkoutPage, finishedPage } from './pages.ts'

export async function findSession(sandbox: Sandbox, id: string) {
  await runTimers(sandbox)
  return findObject(sandbox.db, 'checkout.session', id)
}

/** The page for a session as it is now; `path` is its address. */
export async function pageFor(
  sandbox: Sandbox,
  session: CheckoutSession,
  path: string,
): Promise<Page> {
  const { payment_intent: id } = session
  const intent = id === null ? undefined : await linkedObject(sandbox, 'payment_intent', id)
  if (session.status !== 'open') return finishedPage(session, intent)
  if (intent?.status === 'requires_action') return challengePage(session, path)
  const { data: items } = await listLineItems(sandbox, session.id)
  const { bankDebitSeconds } = sandbox.config
  const error = intent?.last_payment_error ?? null
  return checkoutPage({ path, session, items, error, bankDebitSeconds })
}

export type Step = (sandbox: Sandbox, id: string) => Promise<unknown>

/**
 * One step by the customer. If another tab or a second click has already finished the session, the
 * step is refused, and the page shows how it ended.
 */
export async function takeStep(sandbox: Sandbox, id: string, step: Step): Promise<void> {
  try {
    await runTimers(sandbox)
    await change(sandbox, (inside) => step(inside, id))
  } catch (error) {
    if (!(error instanceof Problem) || error.status >= 500) throw error
  }
}
