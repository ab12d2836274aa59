import { randomUUID } from 'node:crypto'
import { prepared } from '@plinth/kit/database'
import { traceHeaders } from '@plinth/kit/tracing'
import { type RawBuilder, sql } from 'kysely'
import { MAX_DATA_BYTES } from '../limits.ts'
import type { Db, OutboxRow } from './tables.ts'

type NewEvent = {
  type: string
  /** What the event is about; `sequence` numbers the events of a subject. */
  subject: string
  data: Record<string, unknown>
  at: Date
  /** The only endpoint to send it to; by default every endpoint that wants its type. */
  endpointId?: string
}

/**
 * Writes an event in the transaction of the change it describes: it exists if and only if the change
 * does. The outbox has no index but its primary key, so this adds little to the change. Returns the id.
 */
export async function insertEvent(connection: Db, event: NewEvent): Promise<string> {
  const id = newEventId(event.at)
  const { type, subject, endpointId = null } = event
  const data = JSON.stringify(event.data)
  if (Buffer.byteLength(data) > MAX_DATA_BYTES)
    throw new Error(`The event ${type} of ${subject} has more than ${MAX_DATA_BYTES} bytes.`)
  await insertRow(connection, {
    id,
    type,
    subject,
    created_at: event.at.toISOString(),
    endpoint_id: endpointId,
    traceparent: traceHeaders().traceparent ?? null,
    data,
  })
  return id
}

const insertRow = prepared((db: Db, row: Omit<OutboxRow, 'n'>) =>
  db.insertInto('event_outbox').values(row),
)

/** Sorts by time, and has no dot: dots separate the parts of the signed content. */
function newEventId(at: Date): string {
  // Node caches entropy for UUIDs; `randomBytes` takes five times as long.
  const random = randomUUID()
  return `${firstEventIdAt(at)}${random.slice(0, 8)}${random.slice(-12)}`
}

/** No event at or after this time has a smaller id. */
export function firstEventIdAt(at: Date): string {
  return `evt_${at.getTime().toString(16).padStart(12, '0')}`
}

type NewRow = Omit<NewEvent, 'subject' | 'endpointId' | 'at'> & {
  /** The part of the subject before the row id, such as `file:` in `file:17`. */
  prefix: string
  /** The member of `data` that holds the row id. */
  idName: string
  /** In ISO format. */
  at: string
}

/** An event about a row that the same statement inserts: the row id is known only there. */
export type FirstEvent = {
  eventId: string
  eventType: string
  eventAt: string
  subjectPrefix: string
  /** JSON, with the event id in place of the row id: no member of the data can know it. */
  eventData: string
  traceparent: string | null
}

export function firstEvent({ type, prefix, idName, data, at }: NewRow): FirstEvent {
  const eventId = newEventId(new Date(at))
  return {
    eventId,
    eventType: type,
    eventAt: at,
    subjectPrefix: prefix,
    eventData: JSON.stringify({ [idName]: eventId, ...data }),
    traceparent: traceHeaders().traceparent ?? null,
  }
}

/** For when the row id is known before the event is written. */
export async function insertFirstEvent(db: Db, event: FirstEvent, rowId: number): Promise<void> {
  await insertRow(db, {
    id: event.eventId,
    type: event.eventType,
    subject: `${event.subjectPrefix}${rowId}`,
    created_at: event.eventAt,
    endpoint_id: null,
    traceparent: event.traceparent,
    data: event.eventData.replace(`"${event.eventId}"`, String(rowId)),
  })
}

/** For a PostgreSQL statement with a CTE named `rows`, which inserts the row and returns its id. */
export function firstEventOf(event: FirstEvent, rows: string): RawBuilder<unknown> {
  const rowId = sql.ref(`${rows}.id`)
  return sql`insert into event_outbox (id, type, subject, created_at, traceparent, data)
    select ${event.eventId}, ${event.eventType}, ${text(event.subjectPrefix)} || ${rowId},
      ${event.eventAt}, ${text(event.traceparent as string)},
      replace(${text(event.eventData)}, '"' || ${text(event.eventId)} || '"', cast(${rowId} as text))
    from ${sql.ref(rows)}`
}

/** Column definitions for reading a JSON array of `FirstEvent` on PostgreSQL. */
export const FIRST_EVENT_COLUMNS = `"eventId" text, "eventType" text, "eventAt" text,
  "subjectPrefix" text, "eventData" text, traceparent text`

/** Like `firstEventOf` for several rows; `key` joins each row to its event in `list`. */
export function firstEventsOf(rows: string, list: string, key: string): string {
  return `insert into event_outbox (id, type, subject, created_at, traceparent, data)
    select "eventId", "eventType", "subjectPrefix" || id, "eventAt", traceparent,
      replace("eventData", '"' || "eventId" || '"', cast(id as text))
    from ${rows} join ${list} using (${key})`
}

/** PostgreSQL cannot infer the type of a parameter that is only selected. */
export function text<T extends string | null>(value: T): RawBuilder<T> {
  return sql<T>`cast(${value} as text)`
}
