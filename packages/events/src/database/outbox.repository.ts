import { randomUUID } from 'node:crypto'
import { type Db as Connection, prepared, traceHeaders } from '@plinth/kit'
import { type RawBuilder, sql } from 'kysely'
import type { Db, EventTables, OutboxRow } from './tables.ts'

export type NewEvent = {
  type: string
  /** What it is about; its events are counted by `sequence`. */
  subject: string
  data: Record<string, unknown>
  at: Date
  /** The one endpoint it is for; all that want its type otherwise. */
  endpointId?: string
}

/** A receiver must accept 20,000 bytes: this leaves room for what `placeNext` puts around the data. */
const MOST_BYTES = 19_400

/**
 * Writes an event down in the transaction of the change it is about: it is there if and only if the
 * change is. The outbox has no index but its key, so that this costs the change little. Returns its id.
 */
export async function insertEvent<T extends EventTables>(
  connection: Connection<T>,
  event: NewEvent,
): Promise<string> {
  const id = newEventId(event.at)
  const { type, subject, endpointId = null } = event
  const data = JSON.stringify(event.data)
  if (Buffer.byteLength(data) > MOST_BYTES)
    throw new Error(`The event ${type} of ${subject} has more than ${MOST_BYTES} bytes.`)
  await insertRow(connection as unknown as Db, {
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

type NewRow = Omit<NewEvent, 'subject' | 'endpointId' | 'at'> & {
  /** What the subject has before the id of the row, as in `file:17`. */
  prefix: string
  /** The member of `data` that has the id of the row. */
  idName: string
  /** In ISO format. */
  at: string
}

/** An event about a row that the same statement inserts: only there its id is known. */
export type FirstEvent = {
  eventId: string
  eventType: string
  eventAt: string
  subjectPrefix: string
  /** The data before the id, and after it. */
  dataStart: string
  dataEnd: string
  traceparent: string | null
}

export function firstEvent({ type, prefix, idName, data, at }: NewRow): FirstEvent {
  return {
    eventId: newEventId(new Date(at)),
    eventType: type,
    eventAt: at,
    subjectPrefix: prefix,
    dataStart: `{"${idName}":`,
    dataEnd: `,${JSON.stringify(data).slice('{'.length)}`,
    traceparent: traceHeaders().traceparent ?? null,
  }
}

/** Where the id is known before the event is written. */
export async function insertFirstEvent<T extends EventTables>(
  db: Connection<T>,
  event: FirstEvent,
  rowId: number,
): Promise<void> {
  await insertRow(db as unknown as Db, {
    id: event.eventId,
    type: event.eventType,
    subject: `${event.subjectPrefix}${rowId}`,
    created_at: event.eventAt,
    endpoint_id: null,
    traceparent: event.traceparent,
    data: `${event.dataStart}${rowId}${event.dataEnd}`,
  })
}

/** For a statement of PostgreSQL with a part named `rows`, which inserts the row and returns its id. */
export function firstEventOf(event: FirstEvent, rows: string): RawBuilder<unknown> {
  const rowId = sql.ref(`${rows}.id`)
  return sql`insert into event_outbox (id, type, subject, created_at, traceparent, data)
    select ${event.eventId}, ${event.eventType}, ${text(event.subjectPrefix)} || ${rowId},
      ${event.eventAt}, ${text(event.traceparent as string)},
      ${text(event.dataStart)} || ${rowId} || ${text(event.dataEnd)}
    from ${sql.ref(rows)}`
}

/** What a list in JSON with a `FirstEvent` for each row has of it, for PostgreSQL. */
export const FIRST_EVENT_COLUMNS = `"eventId" text, "eventType" text, "eventAt" text,
  "subjectPrefix" text, "dataStart" text, "dataEnd" text, traceparent text`

/** The same for several rows, each of which has its event in `list`, by `key`. */
export function firstEventsOf(rows: string, list: string, key: string): string {
  return `insert into event_outbox (id, type, subject, created_at, traceparent, data)
    select "eventId", "eventType", "subjectPrefix" || id, "eventAt", traceparent,
      "dataStart" || id || "dataEnd"
    from ${rows} join ${list} using (${key})`
}

/** PostgreSQL cannot infer the type of a value that is only selected. */
export function text<T extends string | null>(value: T): RawBuilder<T> {
  return sql<T>`cast(${value} as text)`
}
