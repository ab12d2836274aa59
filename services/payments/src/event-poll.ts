import { secondsAfter } from '@plinth/kit'
import { POLLED_EVENTS } from './event-kinds.ts'
import { findPolledUntil, upsertPolledUntil } from './event-polls.repository.ts'
import type { Payments } from './payments.ts'
import type { RawEvent } from './provider/provider.ts'
import { listKnownEventIds } from './webhook-events.repository.ts'
import { receiveEvent } from './webhooks.ts'

/** Webhooks get this long to arrive by themselves. */
const GRACE_SECONDS = 300
/** Read again each time: the provider's times are whole seconds, and its list may lag. */
const OVERLAP_SECONDS = 600
const FIRST_WINDOW_SECONDS = 3600
/** The provider keeps events for thirty days. */
const OLDEST_SECONDS = 30 * 24 * 3600
const FULL_LIST = 1000

/** Reads the provider's list of events, so that a webhook that never arrived is healed. */
export async function pollEvents(payments: Payments, signal: AbortSignal): Promise<void> {
  const { provider, db, clock } = payments
  if (!provider) return
  const to = secondsAfter(clock(), -GRACE_SECONDS)
  const since = (await findPolledUntil(db)) ?? secondsAfter(to, -FIRST_WINDOW_SECONDS)
  const from = latest(secondsAfter(since, -OVERLAP_SECONDS), secondsAfter(to, -OLDEST_SECONDS))
  const events = await provider.listEvents({ types: POLLED_EVENTS, from, to })

  const known = await listKnownEventIds(
    db,
    events.map(({ event }) => event.id),
  )
  for (const raw of events.filter(({ event }) => !known.has(event.id))) {
    if (signal.aborted) return
    await take(payments, raw)
  }
  await upsertPolledUntil(db, events.length < FULL_LIST ? to : (timeOf(events.at(-1)) ?? to))
}

async function take(payments: Payments, raw: RawEvent): Promise<void> {
  try {
    await receiveEvent(payments, { ...raw, source: 'poll' })
    payments.log.info({ eventId: raw.event.id }, 'an event arrived by poll and not by webhook')
  } catch (error) {
    payments.log.warn({ err: error, eventId: raw.event.id }, 'a polled event failed')
  }
}

function timeOf(raw: RawEvent | undefined): Date | undefined {
  return raw && new Date(raw.event.created * 1000)
}

function latest(left: Date, right: Date): Date {
  return left > right ? left : right
}
