import { inTransaction } from '@plinth/kit/database'
import { HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Payments } from '../payment/context.ts'
import { insertObservation } from '../payment/database/observations.repository.ts'
import { InconsistentObservation } from '../payment/problems.ts'
import type { ListedEvent } from '../provider/provider.ts'
import {
  type ArrivedEvent,
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  newInboxEvent,
  updateEvent,
} from './events.repository.ts'

const FIRST_DELAY_SECONDS = 30
const MAX_DELAY_SECONDS = 6 * HOUR_SECONDS
const MAX_TRIES = 20

/** Stores the claim of an event whose effects were rolled back, with the time of its next try. */
export async function recordFailedEvent(
  { db, clock }: Payments,
  arrived: ArrivedEvent,
  error: unknown,
): Promise<void> {
  const at = clock()
  const wrong = error instanceof InconsistentObservation ? error : undefined
  const paymentId = wrong?.paymentId ?? null
  await inTransaction(db, async (transaction) => {
    const claim = { ...newInboxEvent(arrived, at), paymentId, tries: 0 }
    const claimed = await claimEvent(transaction, failedEvent(claim, error, at))
    const known = claimed ? undefined : await findEventForUpdate(transaction, claim.id)
    if (known && hasFailed(known)) await updateEvent(transaction, failedEvent(known, error, at))
    if (!claimed || !wrong) return
    const { anomaly, message: note } = wrong
    const source = { source: claim.source, kind: claim.type, eventId: claim.id, at }
    await insertObservation(transaction, source, { paymentId, anomaly, note })
  })
}

/** Stores an unreadable event of the provider's list as DEAD, where an operator will see it. */
export async function recordUnreadableEvent(
  { db, clock }: Payments,
  { id, type, body }: ListedEvent,
): Promise<void> {
  await claimEvent(db, {
    ...newInboxEvent({ event: { id, type }, body, source: 'poll' }, clock()),
    status: 'DEAD',
    error: 'The event cannot be read.',
    processedAt: null,
  })
}

export function hasFailed({ status }: InboxEvent): boolean {
  return status === 'FAILED' || status === 'DEAD'
}

/** After the last try an event is left to an operator, who may still retry it. */
export function failedEvent(event: InboxEvent, error: unknown, at: Date): InboxEvent {
  const tries = event.tries + 1
  const isDead = tries >= MAX_TRIES
  return {
    ...event,
    status: isDead ? 'DEAD' : 'FAILED',
    tries,
    nextTryAt: isDead ? null : secondsAfter(at, delaySeconds(tries)).toISOString(),
    // Only our own messages are shown; the log has the details.
    error: error instanceof InconsistentObservation ? error.message : 'Processing failed.',
    processedAt: null,
  }
}

function delaySeconds(tries: number): number {
  return Math.min(FIRST_DELAY_SECONDS * 2 ** (tries - 1), MAX_DELAY_SECONDS)
}
