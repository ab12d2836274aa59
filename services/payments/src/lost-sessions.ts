import { secondsAfter } from '@plinth/kit'
import { recordSession } from './attempt-outcomes.ts'
import { type Attempt, listAttempts } from './attempts.repository.ts'
import { type Payments, requireProvider } from './payments.ts'
import { mustExist } from './provider/problems.ts'
import type { CheckoutSession } from './provider/provider.ts'

const CLOCK_SLACK_SECONDS = 300

/** Looks for the session of an attempt whose reply got lost, and records it. */
export async function searchSession(payments: Payments, attempt: Attempt): Promise<boolean> {
  const session = await mustExist(findLostSession(payments, attempt))
  if (session) await recordSession(payments, attempt, session, 'session found')
  return session !== undefined
}

async function findLostSession(
  payments: Payments,
  { paymentId, firstSentAt }: Attempt,
): Promise<CheckoutSession | undefined> {
  const provider = requireProvider(payments)
  const since = secondsAfter(new Date(firstSentAt), -CLOCK_SLACK_SECONDS)
  const taken = (await listAttempts(payments.db, paymentId)).map(({ sessionId }) => sessionId)
  for await (const { id, metadata } of provider.listSessions(since))
    if (metadata.paymentId === paymentId && !taken.includes(id)) return provider.findSession(id)
  return undefined
}
