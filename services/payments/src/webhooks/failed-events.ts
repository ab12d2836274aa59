import { inTransaction, secondsAfter } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import { insertObservation, remark } from '../payment/database/observations.repository.ts'
import { InconsistentObservation } from '../payment/problems.ts'
import type { ListedEvent, ProviderEvent } from '../provider/provider.ts'
import {
  claimEvent,
  findEventForUpdate,
  type InboxEvent,
  updateEvent,
} from './events.repository.ts'

const FIRST_DELAY_SECONDS = 30

const LONGEST_DELAY_SECONDS = 6 * 3600

const MOST_TRIES = 20

/** Keeps the claim of an event whose effects were rolled back, with the time of its next try. */
export async function recordFailedEvent(
  { db, clock }: Payments,
  delivery: Delivery,
  error: unknown,
): Promise<void> {
  const at = clock()
  const wrong = error instanceof InconsistentObservation ? error : undefined
  const paymentId = wrong?.paymentId ?? null
  await inTransaction(db, async (transaction) => {
    const claim = { ...newClaim(delivery, at), paymentId, tries: 0 }
    const claimed = await claimEvent(transaction, failedEvent(claim, error, at))
    const known = claimed ? undefined : await findEventForUpdate(transaction, claim.id)
    if (known && hasFailed(known)) await updateEvent(transaction, failedEvent(known, error, at))
    if (!claimed || !wrong) return
    const about = { source: claim.source, kind: claim.type, eventId: claim.id, at }
    const { anomaly, message: note } = wrong
    await insertObservation(transaction, { ...remark(about), paymentId, anomaly, note })
  })
}

/** Keeps an event of the provider's list that makes no sense where a person will see it. */
export async function recordUnreadableEvent(
  { db, clock }: Payments,
  { id, type, body }: ListedEvent,
): Promise<void> {
  await claimEvent(db, {
    ...newClaim({ event: { id, type }, body, source: 'poll' }, clock()),
    status: 'DEAD',
    error: 'The event cannot be read.',
    processedAt: null,
  })
}

export function hasFailed({ status }: InboxEvent): boolean {
  return status === 'FAILED' || status === 'DEAD'
}

/** After enough tries an event is left for a person, who may still retry it. */
export function failedEvent(event: InboxEvent, error: unknown, at: Date): InboxEvent {
  const tries = event.tries + 1
  const dead = tries >= MOST_TRIES
  return {
    ...event,
    status: dead ? 'DEAD' : 'FAILED',
    tries,
    nextTryAt: dead ? null : secondsAfter(at, delaySeconds(tries)).toISOString(),
    error: reasonOf(error),
    processedAt: null,
  }
}

function delaySeconds(tries: number): number {
  return Math.min(FIRST_DELAY_SECONDS * 2 ** (tries - 1), LONGEST_DELAY_SECONDS)
}

// Only a sentence of ours is shown; the log has the rest.
function reasonOf(error: unknown): string {
  return error instanceof InconsistentObservation ? error.message : 'Processing failed.'
}

/** A proven event as it came in. */
export type Delivery = { event: ProviderEvent; body: string; source: 'webhook' | 'poll' }

type Named = Omit<Delivery, 'event'> & { event: Pick<ProviderEvent, 'id' | 'type'> }

export function newClaim({ event, body, source }: Named, at: Date): InboxEvent {
  const now = at.toISOString()
  return {
    id: event.id,
    type: event.type,
    status: 'PROCESSED',
    source,
    body,
    paymentId: null,
    parkedFor: null,
    tries: 1,
    nextTryAt: null,
    error: null,
    receivedAt: now,
    processedAt: now,
  }
}
