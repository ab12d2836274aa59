import type { Attempt } from './attempts.repository.ts'
import type { Payment } from './payments.repository.ts'
import type { CheckoutSession, NewSession } from './provider/provider.ts'

/**
 * The customer of the attempt that is shown. One who was not asked for is known only from the
 * session, and stays known while that attempt is the one shown.
 */
export function shownCustomer(
  before: Payment,
  shown: Attempt | undefined,
  session?: CheckoutSession,
): string | null {
  const asked: Partial<NewSession> = JSON.parse(shown?.request ?? '{}')
  const learnt = session && session.id === shown?.sessionId ? session.customerId : null
  const same = before.attemptReference === (shown?.reference ?? null)
  return asked.customerId ?? learnt ?? (same ? before.providerCustomerId : null)
}
