import { engineOf, inTransaction, prepared } from '@plinth/kit/database'
import { type RawBuilder, sql } from 'kysely'
import { text } from './outbox.repository.ts'
import type { Db } from './tables.ts'

export type PlacedEvent = { serial: number; type: string; endpointId: string | null }

const BATCH = 500

/** Must never change: two versions of the service would not see each other's lock. */
const PLACING_LOCK = 7_264_109

/**
 * Moves events from the outbox to the list, and lets `fanOut` create their deliveries in the same
 * transaction. Transactions do not commit in the order of their row numbers, so a reader that pages by
 * row number would miss events. Places are therefore assigned after the commit, by one node at a time,
 * and so is the sequence of a subject, which is part of the body. Returns the result of `fanOut`: then there may
 * be more. Returns undefined if no event was waiting.
 */
export async function placeNext<R>(
  db: Db,
  source: string,
  fanOut: (db: Db, placed: () => Promise<PlacedEvent[]>) => Promise<R>,
): Promise<R | undefined> {
  if ((await firstWaiting(db, {})).length === 0) return undefined
  return inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres')
      await sql`select pg_advisory_xact_lock(${PLACING_LOCK})`.execute(transaction)
    const [first] = await firstWaiting(transaction, {})
    if (!first) return undefined
    const last = await lastPlace(transaction)
    const batch = { end: first.n + BATCH, source }
    if (engineOf(db) === 'postgres') await takeAndPlace(transaction, batch)
    else {
      await place(transaction, batch)
      await take(transaction, batch)
    }
    return fanOut(transaction, () => placedAfter(transaction, { last }))
  })
}

const firstWaiting = prepared((db: Db, _: object) =>
  db.selectFrom('event_outbox').select('n').orderBy('n').limit(1),
)

const placedAfter = prepared((db: Db, { last }: { last: number }) =>
  db
    .selectFrom('events')
    .select(['serial', 'type', 'endpoint_id as endpointId'])
    .where('serial', '>', last)
    .orderBy('serial'),
)

type Batch = { end: number; source: string }

/** A single statement: rows committed between a select and a delete would be deleted unread. */
const takeAndPlace = prepared((db: Db, batch: Batch) => {
  const statement = sql`
    with taken as (delete from event_outbox where n < ${batch.end} returning *)
    ${placing(batch, sql`taken`, sql`cast(to_json(subject) as text)`)}`
  return { compile: () => statement.compile(db) }
})

const place = prepared((db: Db, batch: Batch) => ({
  compile: () =>
    placing(batch, sql`event_outbox where n < ${batch.end}`, sql`json_quote(subject)`).compile(db),
}))

const take = prepared((db: Db, { end }: Batch) =>
  db.deleteFrom('event_outbox').where('n', '<', end),
)

/**
 * The sequence continues from the newest stored event of the subject, or from `event_subjects` when all
 * of its events were deleted. `subject` is the engine's expression for the subject as JSON.
 */
function placing(
  { source }: Batch,
  waiting: RawBuilder<unknown>,
  subject: RawBuilder<unknown>,
): RawBuilder<unknown> {
  return sql`
    insert into events (id, type, subject, sequence, body, created_at, endpoint_id, traceparent)
    select id, type, subject, sequence,
      '{"id":"' || id || '","type":"' || type || '","timestamp":"' || created_at || '","source":"' ||
      ${text(source)} || '","subject":' || ${subject} || ',"sequence":' || sequence ||
      ',"apiVersion":"1","data":' || data || '}',
      created_at, endpoint_id, traceparent
    from (select waiting.*, row_number() over (partition by subject order by n) + coalesce(
        (select max(sequence) from events where events.subject = waiting.subject),
        (select sequence from event_subjects where event_subjects.subject = waiting.subject),
        0) as sequence
      from (select * from ${waiting}) as waiting) as counted
    order by n`
}

export async function lastPlace(db: Db): Promise<number> {
  const [found] = await lastPlaced(db, {})
  return found?.serial ?? 0
}

const lastPlaced = prepared((db: Db, _: object) =>
  db.selectFrom('events').select('serial').orderBy('serial', 'desc').limit(1),
)
