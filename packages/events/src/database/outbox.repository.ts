import { randomUUID } from 'node:crypto'
import { type Db as Connection, engineOf, inTransaction, prepared, traceHeaders } from '@plinth/kit'
import { type QueryCreator, type RawBuilder, sql } from 'kysely'
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
  await insertCounted(db, { ...row, before, after, sequenceFrom })
  return id
}

/** Sorts by time, and has no dot: a dot separates what is signed. */
export function newEventId(at: Date): string {
  // Node makes these in stock; fresh random bytes take five times as long.
  const random = randomUUID()
  return `${firstEventIdAt(at)}${random.slice(0, 8)}${random.slice(-12)}`
}

/** No event of this time or later has a smaller id. */
export function firstEventIdAt(at: Date): string {
  return `evt_${at.getTime().toString(16).padStart(12, '0')}`
}

type NewRow = {
  id: string
  type: string
  subject: string
  created_at: string
  endpoint_id: string | null
  traceparent: string | null
}

export const insertRow = prepared((db: Db, row: NewRow & { sequence: number; body: string }) =>
  db.insertInto('events').values({ ...row, position: placeIn(db) }),
)

/**
 * SQLite has one writer, so rows are committed in the order of their numbers: an event has its place at
 * once where no endpoint and no event before it waits. Otherwise `numberEvents` gives it, with the deliveries.
 */
function placeIn(db: Db): RawBuilder<number | null> {
  if (engineOf(db) === 'postgres') return sql`cast(null as bigint)`
  return sql`case when not exists (select 1 from event_endpoints)
    and not exists (select 1 from events where position is null)
    then coalesce((select max(position) from events where position is not null), 0) + 1 end`
}

type CutRow = NewRow & { before: string; after: string; sequenceFrom: number }

const ROW_COLUMNS = ['id', 'type', 'subject', 'created_at', 'endpoint_id', 'traceparent'] as const

/** The same for several subjects on PostgreSQL, as `countNext` counts there. */
const COUNTED_TOGETHER = `
  with told as materialized (
    select * from json_to_recordset($1) as told (id text, type text, subject text, created_at text,
      endpoint_id text, traceparent text, before text, after text, "sequenceFrom" bigint)),
  counted as (
    insert into event_subjects (subject, sequence)
    select subject, coalesce(
      (select max(sequence) from events where events.subject = told.subject) + 1, "sequenceFrom")
    from told
    on conflict (subject) do update set sequence = greatest(event_subjects.sequence,
      (select max(sequence) from events where events.subject = excluded.subject)) + 1
    returning subject, sequence)
  insert into events (id, type, subject, created_at, endpoint_id, traceparent, sequence, body)
  select id, type, subject, created_at, endpoint_id, traceparent, sequence,
    before || sequence || after
  from told join counted using (subject)`

const insertCounted = prepared(
  (db: Db, { before, after, sequenceFrom, ...row }: CutRow) =>
    db
      .with('counted', countNext(db, row.subject, sequenceFrom))
      .insertInto('events')
      .columns([...ROW_COLUMNS, 'position', 'sequence', 'body'])
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
            placeIn(db).as('position'),
            'counted.sequence',
            sql<string>`${text(before)} || counted.sequence || ${text(after)}`.as('body'),
          ]),
      ),
  { sql: COUNTED_TOGETHER, keys: ['subject'] },
)

/**
 * The sequence of the next event of a subject. On PostgreSQL a row of its own makes transactions take
 * turns; SQLite has one writer, and that row remains only of events that were deleted.
 */
function countNext(db: Db, subject: string, from: number) {
  const kept = sql<number>`(select max(sequence) from events where subject = ${text(subject)})`
  const deleted = sql<number>`(select sequence from event_subjects where subject = ${subject})`
  // SQLite takes a number of JavaScript for a real one, and would write 1.0 into the body.
  const first = sql<number>`cast(${from} as bigint)`
  const isShared = engineOf(db) === 'postgres'
  return (cte: QueryCreator<EventTables>) =>
    isShared
      ? cte
          .insertInto('event_subjects')
          .values({ subject, sequence: sql`coalesce(${kept} + 1, ${first})` })
          .onConflict((conflict) =>
            conflict
              .column('subject')
              .doUpdateSet({ sequence: sql`greatest(event_subjects.sequence, ${kept}) + 1` }),
          )
          .returning('sequence')
      : cte.selectNoFrom(
          sql<number>`coalesce(${kept} + 1, ${deleted} + 1, ${first})`.as('sequence'),
        )
}

/** PostgreSQL cannot infer the type of a value that is only selected. */
export function text<T extends string | null>(value: T): RawBuilder<T> {
  return sql<T>`cast(${value} as text)`
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
    const { rows } = await placeNext(last).execute(transaction)
    if (rows.length === 0) return false
    await fanOut(
      transaction,
      rows
        .sort((one, other) => one.serial - other.serial)
        .map(({ serial, type, endpoint_id }) => ({ serial, type, endpointId: endpoint_id })),
    )
    return rows.length === BATCH
  })
}

const firstUnnumbered = prepared((db: Db, _: object) =>
  db.selectFrom('events').select('serial').where('position', 'is', null).limit(1),
)

async function hasUnnumbered(db: Db): Promise<boolean> {
  return (await firstUnnumbered(db, {})).length > 0
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

type Placed = { serial: number; type: string; endpoint_id: string | null }

function placeNext(last: number): RawBuilder<Placed> {
  const position = sql.ref('position')
  return sql<Placed>`update events set ${position} = cast(${last} as bigint) + fresh.place
    from (select serial as placed, row_number() over (order by serial) as place
      from events where ${position} is null order by serial limit ${sql.lit(BATCH)}) as fresh
    where serial = fresh.placed
    returning serial, type, endpoint_id`
}
