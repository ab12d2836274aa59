import { randomUUID } from 'node:crypto'
import { type Db as Connection, prepared, traceHeaders } from '@plinth/kit'
import { type RawBuilder, sql } from 'kysely'
import type { Db, EventTables, OutboxRow } from './tables.ts'

export type NewEvent = {
  /** The service it comes from. */
  source: string
  type: string
  /** What it is about; its events are counted by `sequence`. */
  subject: string
  data: Record<string, unknown>
  at: Date
  /** The one endpoint it is for; all that want its type otherwise. */
  endpointId?: string
}

const API_VERSION = '1'

/** As large as a receiver must accept. */
const MOST_BYTES = 20_000
/** Of the sequence with its name, which `placeNext` puts between the parts of the body. */
const SEQUENCE_BYTES = 32

/**
 * Writes an event down in the transaction of the change it is about: it is there if and only if the
 * change is. The outbox has no index but its key, so that this costs the change little. Returns its id.
 */
export async function insertEvent<T extends EventTables>(
  connection: Connection<T>,
  event: NewEvent,
): Promise<string> {
  const id = newEventId(event.at)
  const created_at = event.at.toISOString()
  const { source, type, subject, data, endpointId = null } = event
  const head = JSON.stringify({ id, type, timestamp: created_at, source, subject }).slice(0, -1)
  const tail = JSON.stringify({ apiVersion: API_VERSION, data }).slice(1)
  if (Buffer.byteLength(head) + Buffer.byteLength(tail) + SEQUENCE_BYTES > MOST_BYTES)
    throw new Error(`The event ${type} of ${subject} has more than ${MOST_BYTES} bytes.`)
  const { traceparent = null } = traceHeaders()
  const about = { id, type, subject, created_at, endpoint_id: endpointId, traceparent }
  await insertRow(connection as unknown as Db, { ...about, head, tail })
  return id
}

const insertRow = prepared((db: Db, row: Omit<OutboxRow, 'n'>) =>
  db.insertInto('event_outbox').values(row),
)

/** Sorts by time, and has no dot: a dot separates what is signed. */
function newEventId(at: Date): string {
  // Node makes these in stock; fresh random bytes take five times as long.
  const random = randomUUID()
  return `${firstEventIdAt(at)}${random.slice(0, 8)}${random.slice(-12)}`
}

/** No event of this time or later has a smaller id. */
export function firstEventIdAt(at: Date): string {
  return `evt_${at.getTime().toString(16).padStart(12, '0')}`
}

type NewRow = Omit<NewEvent, 'subject' | 'endpointId'> & {
  /** What the subject has before the id of the row, as in `file:17`. */
  prefix: string
  /** The member of `data` that has the id of the row. */
  idName: string
}

/** An event about a row that the same statement inserts: only there its id is known. */
export type FirstEvent = {
  eventId: string
  eventType: string
  eventAt: string
  subjectPrefix: string
  /** The head of the body up to the id, and the tail before and after it. */
  headStart: string
  tailStart: string
  tailEnd: string
  traceparent: string | null
}

const HEAD_END = '"'

export function firstEvent({ source, type, prefix, idName, data, at }: NewRow): FirstEvent {
  const eventId = newEventId(at)
  const eventAt = at.toISOString()
  const head = JSON.stringify({ id: eventId, type, timestamp: eventAt, source, subject: prefix })
  return {
    eventId,
    eventType: type,
    eventAt,
    subjectPrefix: prefix,
    headStart: head.slice(0, -`${HEAD_END}}`.length),
    tailStart: `"apiVersion":"${API_VERSION}","data":{"${idName}":`,
    tailEnd: `,${JSON.stringify(data).slice('{'.length)}}`,
    traceparent: traceHeaders().traceparent ?? null,
  }
}

/** Where the id is known before the event is written. */
export async function insertFirstEvent<T extends EventTables>(
  db: Connection<T>,
  { eventId, eventType, eventAt, subjectPrefix, traceparent, ...cut }: FirstEvent,
  rowId: number,
): Promise<void> {
  await insertRow(db as unknown as Db, {
    id: eventId,
    type: eventType,
    subject: `${subjectPrefix}${rowId}`,
    created_at: eventAt,
    endpoint_id: null,
    traceparent,
    head: `${cut.headStart}${rowId}${HEAD_END}`,
    tail: `${cut.tailStart}${rowId}${cut.tailEnd}`,
  })
}

/** For a statement of PostgreSQL with a part named `rows`, which inserts the row and returns its id. */
export function firstEventOf(event: FirstEvent, rows: string): RawBuilder<unknown> {
  const rowId = sql.ref(`${rows}.id`)
  return sql`insert into event_outbox (id, type, subject, created_at, traceparent, head, tail)
    select ${event.eventId}, ${event.eventType}, ${text(event.subjectPrefix)} || ${rowId},
      ${event.eventAt}, ${text(event.traceparent as string)},
      ${text(event.headStart)} || ${rowId} || ${sql.lit(HEAD_END)},
      ${text(event.tailStart)} || ${rowId} || ${text(event.tailEnd)}
    from ${sql.ref(rows)}`
}

/** PostgreSQL cannot infer the type of a value that is only selected. */
export function text<T extends string | null>(value: T): RawBuilder<T> {
  return sql<T>`cast(${value} as text)`
}
