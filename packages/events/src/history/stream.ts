import { setTimeout } from 'node:timers/promises'
import { type EventFilter, findPosition, listEvents } from '../database/events.repository.ts'
import { lastPosition } from '../database/outbox.repository.ts'
import type { Events } from '../events.ts'
import { tooManyStreams } from '../problems.ts'

const MOST_STREAMS = 100
const BATCH = 100
const LOOK_EVERY_MS = 1_000
const COMMENT_EVERY_MS = 15_000

export type Streams = {
  /** Server-sent events from where the reader stands, until `signal` aborts. */
  open(start: StreamStart, signal: AbortSignal): AsyncGenerator<string>
  /** New events have their place. */
  notify(): void
  close(): void
}

type StreamStart = EventFilter & { after?: string }

export function openStreams(events: Events): Streams {
  const closing = new AbortController()
  let news = Promise.withResolvers<void>()
  let open = 0
  const notify = () => {
    news.resolve()
    news = Promise.withResolvers<void>()
  }

  async function* read(start: StreamStart, signal: AbortSignal): AsyncGenerator<string> {
    const end = AbortSignal.any([signal, closing.signal])
    try {
      yield* eventsFrom(events, start, { end, news: () => news.promise })
    } finally {
      open -= 1
    }
  }
  return {
    open: (start, signal) => {
      if (open >= MOST_STREAMS) throw tooManyStreams()
      open += 1
      return read(start, signal)
    },
    notify,
    close: () => closing.abort(),
  }
}

type Surroundings = { end: AbortSignal; news: () => Promise<void> }

async function* eventsFrom(
  events: Events,
  { after, ...filter }: StreamStart,
  { end, news }: Surroundings,
): AsyncGenerator<string> {
  let position = await positionOf(events, after, filter)
  yield ': events follow\n\n'
  if (position === undefined) {
    // What was deleted cannot be sent: the reader has to look at the present state.
    yield 'event: gap\ndata: {}\n\n'
    position = 0
  }
  let silentSince = performance.now()
  while (!end.aborted) {
    const waiting = news()
    const found = await listEvents(events.db, {
      ...filter,
      after: position,
      order: 'asc',
      limit: BATCH,
    })
    for (const { id, type, body } of found) yield `id: ${id}\nevent: ${type}\ndata: ${body}\n\n`
    const last = found.at(-1)
    if (last) {
      position = (await findPosition(events.db, last.id)) ?? position
      silentSince = performance.now()
      continue
    }
    if (performance.now() - silentSince >= COMMENT_EVERY_MS) {
      yield ': still here\n\n'
      silentSince = performance.now()
    }
    await Promise.race([waiting, pause(end)])
  }
}

/** Where to begin: after the last event that was read, at a time, or with what comes next. */
async function positionOf(
  { db }: Events,
  after: string | undefined,
  { since }: EventFilter,
): Promise<number | undefined> {
  if (after !== undefined) return findPosition(db, after)
  return since ? 0 : lastPosition(db)
}

/** Another node may number the events, so this one looks for itself. */
async function pause(end: AbortSignal): Promise<void> {
  await setTimeout(LOOK_EVERY_MS, undefined, { signal: end, ref: false }).catch(() => {})
}
