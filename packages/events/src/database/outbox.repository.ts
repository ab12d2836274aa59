import { randomBytes } from 'node:crypto'
import { type Db as Connection, engineOf, inTransaction, prepared, traceHeaders } from '@plinth/kit'
import { type RawBuilder, sql } from 'kysely'
import type { Db, EventTables } from './tables.ts'

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
  /** The sequence of the first event that is counted; 1 unless there is a `FirstEvent`. */
  sequenceFrom?: number
}

export const API_VERSION = '1'

/** As large as a receiver must accept. */
const MOST_BYTES = 20_000

/**
 * Writes an event down in the transaction of the change it is about: it is there if and only if the
 * change is. Returns its id.
 */
export async function insertEvent<T extends EventTables>(
  connection: Connection<T>,
  event: NewEvent,
): Promise<string> {
  const db = connection as unknown as Db
  const id = newEventId(event.at)
  const created_at = event.at.toISOString()
  const { type, subject, endpointId = null, sequenceFrom = 1 } = event
  // The body is cut where the sequence goes, which the database gives.
  const head = JSON.stringify({ id, type, timestamp: created_at, source: event.source, subject })
  const tail = JSON.stringify({ apiVersion: API_VERSION, data: event.data })
  const before = `${head.slice(0, -1)},"sequence":`
  const after = `,${tail.slice(1)}`
  if (Buffer.byteLength(before) + Buffer.byteLength(after) + 16 > MOST_BYTES)
    throw new Error(`The event ${type} of ${subject} has more than ${MOST_BYTES} bytes.`)
  const { traceparent = null } = traceHeaders()
  const row = { id, type, subject, created_at, endpoint_id: endpointId, traceparent }
  if (engineOf(db) === 'postgres')
    await insertInOneStatement(db, { ...row, before, after, sequenceFrom })
  else {
    const [counted] = await countSubject(db, { subject, sequenceFrom })
    const sequence = counted?.sequence ?? sequenceFrom
    await insertRow(db, { ...row, sequence, body: `${before}${sequence}${after}` })
  }
  return id
}

/** Sorts by time, and has no dot: a dot separates what is signed. */
export function newEventId(at: Date): string {
  return `evt_${at.getTime().toString(16).padStart(12, '0')}${randomBytes(10).toString('hex')}`
}

type Counting = { subject: string; sequenceFrom: number }

const countSubject = prepared((db: Db, { subject, sequenceFrom }: Counting) =>
  db
    .insertInto('event_subjects')
    .values({ subject, sequence: sequenceFrom })
    .onConflict((conflict) =>
      conflict
        .column('subject')
        .doUpdateSet(({ eb }) => ({ sequence: eb('event_subjects.sequence', '+', 1) })),
    )
    .returning('sequence'),
)

type NewRow = {
  id: string
  type: string
  subject: string
  created_at: string
  endpoint_id: string | null
  traceparent: string | null
}

export const insertRow = prepared((db: Db, row: NewRow & { sequence: number; body: string }) =>
  db.insertInto('events').values(row),
)

type CutRow = NewRow & { before: string; after: string; sequenceFrom: number }

const ROW_COLUMNS = ['id', 'type', 'subject', 'created_at', 'endpoint_id', 'traceparent'] as const

const insertInOneStatement = prepared((db: Db, { before, after, sequenceFrom, ...row }: CutRow) =>
  db
    .with('counted', (cte) =>
      cte
        .insertInto('event_subjects')
        .values({ subject: row.subject, sequence: sequenceFrom })
        .onConflict((conflict) =>
          conflict
            .column('subject')
            .doUpdateSet(({ eb }) => ({ sequence: eb('event_subjects.sequence', '+', 1) })),
        )
        .returning('sequence'),
    )
    .insertInto('events')
    .columns([...ROW_COLUMNS, 'sequence', 'body'])
    .expression((from) =>
      from
        .selectFrom('counted')
        .select([
          text(row.id).as('id'),
          text(row.type).as('type'),
          text(row.subject).as('subject'),
          text(row.created_at).as('created_at'),
          text(row.endpoint_id as string).as('endpoint_id'),
          text(row.traceparent as string).as('traceparent'),
          'counted.sequence',
          sql<string>`${text(before)} || counted.sequence || ${text(after)}`.as('body'),
        ]),
    ),
)

/** PostgreSQL cannot infer the type of a value that is only selected. */
export function text(value: string): RawBuilder<string> {
  return sql<string>`cast(${value} as text)`
}

export type NumberedEvent = { serial: number; type: string; endpointId: string | null }

const BATCH = 200

/** Another number would let two versions of the service miss each other's lock. */
const NUMBERING_LOCK = 7_264_109

/**
 * Gives places in the list to events that have none, and lets `fanOut` make their deliveries in the
 * same transaction. Transactions commit in another order than their rows are numbered in, so a reader
 * of the row numbers would miss some; these numbers are given after the commit, by one node at a time.
 * Returns whether there may be more.
 */
export async function numberEvents(
  db: Db,
  fanOut: (db: Db, events: NumberedEvent[]) => Promise<void>,
): Promise<boolean> {
  if (!(await hasUnnumbered(db))) return false
  return inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres')
      await sql`select pg_advisory_xact_lock(${NUMBERING_LOCK})`.execute(transaction)
    const last = await lastPosition(transaction)
    const rows = await transaction
      .selectFrom('events')
      .select(['serial', 'type', 'endpoint_id'])
      .where('position', 'is', null)
      .orderBy('serial')
      .limit(BATCH)
      .execute()
    const serials = rows.map(({ serial }) => serial)
    if (serials.length === 0) return false
    await transaction
      .updateTable('events')
      .set({ position: placeAmong(serials, last) })
      .where('serial', 'in', serials)
      .execute()
    await fanOut(
      transaction,
      rows.map(({ serial, type, endpoint_id }) => ({ serial, type, endpointId: endpoint_id })),
    )
    return rows.length === BATCH
  })
}

async function hasUnnumbered(db: Db): Promise<boolean> {
  const found = await db
    .selectFrom('events')
    .select('serial')
    .where('position', 'is', null)
    .limit(1)
    .executeTakeFirst()
  return found !== undefined
}

/** Never deleted, or its number would be given out again. */
export async function lastPosition(db: Db): Promise<number> {
  const found = await db
    .selectFrom('events')
    .select('position')
    .where('position', 'is not', null)
    .orderBy('position', 'desc')
    .limit(1)
    .executeTakeFirst()
  return found?.position ?? 0
}

function placeAmong(serials: number[], last: number) {
  const cases = serials.map(
    (serial, index) => sql`when ${sql.lit(serial)} then ${sql.lit(last + index + 1)}`,
  )
  return sql<number>`case serial ${sql.join(cases, sql` `)} end`
}
