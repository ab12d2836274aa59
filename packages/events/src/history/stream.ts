import { setTimeout } from 'node:timers/promises'
import { isRecent } from '@plinth/kit/runtime'
import { type EventFilter, findLast, findPlace, listEvents } from '../database/events.repository.ts'
import type { Events } from '../events.ts'
import { MAX_STREAMS } from '../limits.ts'
import { tooManyStreams } from '../problems.ts'
import { catchUp } from './history.ts'

const BATCH = 100
const POLL_EVERY_MS = 1_000
const COMMENT_EVERY_SECONDS = 15

export type Streams = {
  /** Server-sent events from the reader's position, until it disconnects or loses access. */
  open(start: StreamStart, reader: Reader): AsyncGenerator<string>
  /** Call when new events were placed. */
  notify(): void
  /** Whether any stream is open. */
  isRead(): boolean
  close(): void
}

type StreamStart = EventFilter & { after?: string }

export type Reader = {
  caller: string
  gone: AbortSignal
  /** Checked every 15 seconds: a key may be revoked, a user signed out. */
  mayRead(): Promise<boolean>
  /** Ends the connection, whether or not the reader is reading. */
  disconnect(): void
}

export function openStreams(events: Events): Streams {
  const closing = new AbortController()
  let news = Promise.withResolvers<void>()
  /** In the order in which they were opened. */
  const open = new Set<Reader>()
  const notify = () => {
    news.resolve()
    news = Promise.withResolvers<void>()
  }

  return {
    open: (start, reader) => {
      if (open.size >= MAX_STREAMS) makeRoom(open, reader)
      const { gone, mayRead } = reader
      const end = AbortSignal.any([gone, closing.signal])
      // Not counted in the generator: it never starts if the reader leaves before the first read.
      if (!gone.aborted) {
        open.add(reader)
        gone.addEventListener('abort', () => open.delete(reader))
      }
      return eventsFrom(events, start, { end, mayRead, news: () => news.promise })
    },
    notify,
    isRead: () => open.size > 0,
    close: () => closing.abort(),
  }
}

/** Ends the newest stream of the caller with the most, unless this one would then have as many. */
function makeRoom(open: Set<Reader>, { caller }: Reader): void {
  const byCaller = Map.groupBy(open, (reader) => reader.caller)
  const most = [...byCaller.values()].reduce((a, b) => (b.length > a.length ? b : a), [])
  const newest = most.at(-1)
  const own = byCaller.get(caller)?.length ?? 0
  if (!newest || own + 1 >= most.length) throw tooManyStreams()
  open.delete(newest)
  newest.disconnect()
}

type StreamContext = Pick<Reader, 'mayRead'> & { end: AbortSignal; news: () => Promise<void> }

async function* eventsFrom(
  events: Events,
  { after, ...filter }: StreamStart,
  { end, mayRead, news }: StreamContext,
): AsyncGenerator<string> {
  await catchUp(events)
  const start = await startOf(events, after, filter)
  yield openingOf(start)
  let place = start?.place ?? 0
  let silentSince = events.clock()
  let checkedAt = silentSince
  while (!end.aborted) {
    if (!isRecent(checkedAt, COMMENT_EVERY_SECONDS, events.clock())) {
      if (!(await mayRead())) return
      checkedAt = events.clock()
    }
    const waiting = news()
    await catchUp(events)
    // Read before the events, which then include every match up to here.
    const isSilent = !isRecent(silentSince, COMMENT_EVERY_SECONDS, events.clock())
    const listEnd = isSilent ? await findLast(events.db) : undefined
    const found = await listEvents(events.db, {
      ...filter,
      after: place,
      order: 'asc',
      limit: BATCH,
    })
    for (const { id, type, body } of found) yield `id: ${id}\nevent: ${type}\ndata: ${body}\n\n`
    const last = found.at(-1)
    if (last) {
      place = last.serial
      silentSince = events.clock()
      continue
    }
    if (listEnd) {
      yield commentOf('still here', listEnd)
      place = listEnd.place
      silentSince = events.clock()
    }
    await Promise.race([waiting, pause(end)])
  }
}

type Start = { place: number; id?: string | undefined }

/** Where to start: after the last event read, at a time, or with the next event. Undefined for a gap. */
async function startOf(
  { db }: Events,
  after: string | undefined,
  { since }: EventFilter,
): Promise<Start | undefined> {
  if (after === undefined) return since ? { place: 0 } : findLast(db)
  const place = await findPlace(db, after)
  return place === undefined ? undefined : { place }
}

function openingOf(start: Start | undefined): string {
  // Deleted events cannot be sent: the reader has to fetch the current state.
  if (!start) return ': events follow\n\nevent: gap\ndata: {}\n\n'
  return commentOf('events follow', start)
}

/** The id lets a reader that receives no event resume from here. */
function commentOf(text: string, { id }: Start): string {
  return `: ${text}\n${id === undefined ? '' : `id: ${id}\n`}\n`
}

/** Polls, because events placed by another node do not notify this one. */
async function pause(end: AbortSignal): Promise<void> {
  await setTimeout(POLL_EVERY_MS, undefined, { signal: end, ref: false }).catch(() => {})
}
