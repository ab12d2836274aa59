import { Problem } from '@plinth/kit/problems'
import { DAY_SECONDS, HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Payments } from '../payment/context.ts'
import { isRestored } from '../payment/database/restores.repository.ts'
import { certaintyOf } from '../provider/failures.ts'
import { eventMalformed } from '../provider/problems.ts'
import type { EventPage, ListedEvent, ProviderCalls } from '../provider/provider.ts'
import { listKnownEventIds } from './events.repository.ts'
import { recordUnreadableEvent } from './failed-events.ts'
import { type EventPoll, findEventPoll, upsertEventPoll } from './poll.repository.ts'
import { type Inbox, receiveEvent } from './receive.ts'

/** Webhooks get this long to arrive by themselves, except after a restore. */
const GRACE_SECONDS = 300
/** Read again each time, because the provider's times are whole seconds and its list may lag. */
const OVERLAP_SECONDS = 600
const FIRST_WINDOW_SECONDS = HOUR_SECONDS
/** The provider keeps events for thirty days. */
const MAX_AGE_SECONDS = 30 * DAY_SECONDS
const CUT_SHORT = "the provider's list has more events, but no id to continue from"

/**
 * Reads the provider's list of events, to make up for lost webhooks. Every page moves the cursor, so
 * a long list is read to its end however often the reading is interrupted.
 */
export async function pollEvents(inbox: Inbox, signal: AbortSignal): Promise<void> {
  const { provider, db, clock, log } = inbox
  const { calls } = provider
  if (!calls) return
  const restored = await isRestored(db)
  const until = restored ? clock() : secondsAfter(clock(), -GRACE_SECONDS)
  let poll = windowOf(await findEventPoll(db), until)
  while (poll.window && !signal.aborted) {
    const { events, next, cutShort } = await readPage(inbox, calls, poll)
    if (!(await takeNew(inbox, events, signal))) return
    if (cutShort) log.warn({ ...poll.window }, CUT_SHORT)
    poll = next === null ? finished(poll) : { ...poll, window: { ...poll.window, after: next } }
    await upsertEventPoll(db, poll)
    // A window that was open when the backup was made may have ended long ago.
    if (restored && !poll.window && poll.polledUntil < until) poll = windowOf(poll, until)
  }
}

/** The unfinished window, or a new one. */
function windowOf(poll: EventPoll | undefined, until: Date): EventPoll {
  const to = poll?.window?.to ?? until
  const polledUntil = poll?.polledUntil ?? secondsAfter(to, -FIRST_WINDOW_SECONDS)
  return { polledUntil, window: { to, after: poll?.window?.after ?? null } }
}

function finished({ polledUntil, window }: EventPoll): EventPoll {
  return { polledUntil: window?.to ?? polledUntil, window: null }
}

async function readPage(
  { db, clock }: Payments,
  calls: ProviderCalls,
  poll: EventPoll,
): Promise<EventPage> {
  const { to, after } = poll.window ?? { to: clock(), after: null }
  const overlapping = secondsAfter(poll.polledUntil, -OVERLAP_SECONDS)
  const from = latest(overlapping, secondsAfter(to, -MAX_AGE_SECONDS))
  try {
    return await calls.listEvents({ from, to, after })
  } catch (error) {
    // The provider has forgotten the event we stopped at: the next round starts the window over.
    if (after !== null && certaintyOf(error).isFinal)
      await upsertEventPoll(db, { ...poll, window: null })
    throw error
  }
}

async function takeNew(inbox: Inbox, events: ListedEvent[], signal: AbortSignal): Promise<boolean> {
  const known = await listKnownEventIds(
    inbox.db,
    events.map(({ id }) => id),
  )
  for (const listed of events.filter(({ id }) => !known.has(id))) {
    if (signal.aborted) return false
    await take(inbox, listed)
  }
  return true
}

async function take(inbox: Inbox, listed: ListedEvent): Promise<void> {
  const { event, body, id: eventId } = listed
  try {
    if (!event) throw eventMalformed()
    await receiveEvent(inbox, { event, body, source: 'poll' })
    inbox.log.info({ eventId }, 'an event arrived by poll and not by webhook')
  } catch (error) {
    // Only a Problem means that the event is stored or can be: on any other error the cursor must not move on.
    if (!(error instanceof Problem)) throw error
    inbox.log.warn({ err: error, eventId }, 'a polled event failed')
    if (eventMalformed.is(error)) await recordUnreadableEvent(inbox, listed)
  }
}

function latest(left: Date, right: Date): Date {
  return left > right ? left : right
}
