import { type Db as Connection, traceHeaders } from '@plinth/kit'
import { type RawBuilder, sql } from 'kysely'
import { API_VERSION, insertRow, newEventId, text } from './outbox.repository.ts'
import type { Db, EventTables } from './tables.ts'

type NewRow = {
  source: string
  type: string
  /** What the subject has before the id of the row, as in `file:17`. */
  prefix: string
  /** The member of `data` that has the id of the row. */
  idName: string
  /** The other members. */
  data: Record<string, unknown>
  at: Date
}

/**
 * The first event about a row, which the statement that inserts the row writes too: only there its id
 * is known. Its sequence is 1 and is not counted; those that follow have `sequenceFrom: 2`.
 */
export type FirstEvent = {
  eventId: string
  eventType: string
  eventAt: string
  subjectPrefix: string
  /** The body, cut where the id goes. */
  bodyStart: string
  bodyMiddle: string
  bodyEnd: string
  traceparent: string | null
}

export function firstEvent({ source, type, prefix, idName, data, at }: NewRow): FirstEvent {
  const eventId = newEventId(at)
  const eventAt = at.toISOString()
  const head = JSON.stringify({ id: eventId, type, timestamp: eventAt, source, subject: prefix })
  return {
    eventId,
    eventType: type,
    eventAt,
    subjectPrefix: prefix,
    bodyStart: head.slice(0, -'"}'.length),
    bodyMiddle: `","sequence":1,"apiVersion":"${API_VERSION}","data":{"${idName}":`,
    bodyEnd: `,${JSON.stringify(data).slice('{'.length)}}`,
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
    sequence: 1,
    body: `${cut.bodyStart}${rowId}${cut.bodyMiddle}${rowId}${cut.bodyEnd}`,
    traceparent,
  })
}

/** For a statement of PostgreSQL with a part named `rows`, which inserts the row and returns its id. */
export function firstEventOf(event: FirstEvent, rows: string): RawBuilder<unknown> {
  const rowId = sql.ref(`${rows}.id`)
  return sql`insert into events (id, type, subject, created_at, traceparent, sequence, body)
    select ${event.eventId}, ${event.eventType}, ${text(event.subjectPrefix)} || ${rowId},
      ${event.eventAt}, ${text(event.traceparent as string)}, 1,
      ${text(event.bodyStart)} || ${rowId} || ${text(event.bodyMiddle)} || ${rowId}
        || ${text(event.bodyEnd)}
    from ${sql.ref(rows)}`
}
