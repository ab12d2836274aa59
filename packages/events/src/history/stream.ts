import { setTimeout } from 'node:timers/promises'
import { type EventFilter, findLast, findPlace, listEvents } from '../database/events.repository.ts'
import type { Events } from '../events.ts'
import { tooManyStreams } from '../problems.ts'
import { catchUp } from './history.ts'

const MOST_STREAMS = 100
const BATCH = 100
const LOOK_EVERY_MS = 1_000
const COMMENT_EVERY_MS = 15_000

export type Streams = {
  /** Server-sent events from where the reader stands, until it is gone or may not read any more. */
  open(start: StreamStart, reader: Reader): AsyncGenerator<string>
  /** New events have their place. */
  notify(): void
  isRead(): boolean
  close(): void
}

type StreamStart = EventFilter & { after?: string }

/** `mayRead` is asked again every 15 seconds: a key may be revoked, a user signed out. */
type Reader = { gone: AbortSignal; mayRead(): Promise<boolean> }

export function openStreams(events: Events): Streams {
  const closing = new AbortController()
  let news = Promise.withResolvers<void>()
  let open = 0
  const notify = () => {
    news.resolve()
    news = Promise.withResolvers<void>()
  }

  return {
    open: (start, { gone, mayRead }) => {
      if (open >= MOST_STREAMS) throw tooManyStreams()
      const end = AbortSignal.any([gone, closing.signal])
      // Not by the generator: it never begins for a reader who leaves before the first event is asked for.
      if (!gone.aborted) {
        open += 1
        gone.addEventListener('abort', () => {
          open -= 1
        })
      }
      return eventsFrom(events, start, { end, mayRead, news: () => news.promise })
    },
    notify,
    isRead: () => open > 0,
    close: () => closing.abort(),
  }
}

type Surroundings = Pick<Reader, 'mayRead'> & { end: AbortSignal; news: () => Promise<void> }

async function* eventsFrom(
  events: Events,
  { after, ...filter }: StreamStart,
  { end, mayRead, news }: Surroundings,
): AsyncGenerator<string> {
  await catchUp(events)
  const start = await startOf(events, after, filter)
  yield openingOf(start)
  let place = start?.place ?? 0
  let silentSince = events.clock()
  let askedAt = silentSince
  while (!end.aborted) {
    if (isTime(askedAt, events.clock())) {
      if (!(await mayRead())) return
      askedAt = events.clock()
    }
    const waiting = news()
    await catchUp(events)
    const found = await listEvents(events.db, {
      ...filter,
      after: place,
      order: 'asc',
      limit: BATCH,
    })
    for (const { id, type, body } of found) yield `id: ${id}\nevent: ${type}\ndata: ${body}\n\n`
    const last = found.at(-1)
    if (last) {
      place = (await findPlace(events.db, last.id)) ?? place
      silentSince = events.clock()
      continue
    }
    if (isTime(silentSince, events.clock())) {
      yield ': still here\n\n'
      silentSince = events.clock()
    }
    await Promise.race([waiting, pause(end)])
  }
}

/** Also after a clock was set back. */
function isTime(last: Date, now: Date): boolean {
  return Math.abs(now.getTime() - last.getTime()) >= COMMENT_EVERY_MS
}

type Start = { place: number; id?: string | undefined }

/** Where to begin: after the last event that was read, at a time, or with what comes next. */
async function startOf(
  { db }: Events,
  after: string | undefined,
  { since }: EventFilter,
): Promise<Start | undefined> {
  if (after === undefined) return since ? { place: 0 } : findLast(db)
  const place = await findPlace(db, after)
  return place === undefined ? undefined : { place }
}

/** The id lets a reader go on from here that gets no event for now. */
function openingOf(start: Start | undefined): string {
  // What was deleted cannot be sent: the reader has to look at the present state.
  if (!start) return ': events follow\n\nevent: gap\ndata: {}\n\n'
  return `: events follow\n${start.id === undefined ? '' : `id: ${start.id}\n`}\n`
}

/** Another node may place the events, so this one looks for itself. */
async function pause(end: AbortSignal): Promise<void> {
  await setTimeout(LOOK_EVERY_MS, undefined, { signal: end, ref: false }).catch(() => {})
}
