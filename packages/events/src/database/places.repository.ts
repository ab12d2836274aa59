import { engineOf, inTransaction, prepared } from '@plinth/kit/database'
import { type Selectable, sql } from 'kysely'
import type { Db, EventRow, OutboxRow } from './tables.ts'

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
    const waiting = await take(transaction, { end: first.n + BATCH })
    await place(transaction, source, waiting)
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

/**
 * Read and deleted by one statement: rows committed between a select and a delete would be deleted unread. The
 * sequence continues from the newest stored event of the subject, or from `event_subjects` when all of its events were
 * deleted.
 */
const take = prepared((db: Db, { end }: { end: number }) =>
  db
    .deleteFrom('event_outbox')
    .where('n', '<', end)
    .returningAll()
    .returning(({ fn, selectFrom, val }) =>
      fn
        .coalesce(
          selectFrom('events')
            .select(({ fn: { max } }) => max('sequence').as('newest'))
            .whereRef('events.subject', '=', 'event_outbox.subject'),
          selectFrom('event_subjects')
            .select('sequence')
            .whereRef('event_subjects.subject', '=', 'event_outbox.subject'),
          val(0),
        )
        .as('lastSequence'),
    ),
)

type Waiting = Selectable<OutboxRow> & { lastSequence: number }

async function place(db: Db, source: string, waiting: Waiting[]): Promise<void> {
  const sequences = new Map(waiting.map(({ subject, lastSequence }) => [subject, lastSequence]))
  const inOrder = waiting.toSorted((one, other) => one.n - other.n)
  for (const { n: _, lastSequence: __, data, ...event } of inOrder) {
    const { id, type, subject, created_at: timestamp } = event
    const sequence = (sequences.get(subject) ?? 0) + 1
    sequences.set(subject, sequence)
    const head = { id, type, timestamp, source, subject, sequence, apiVersion: '1' }
    const body = JSON.stringify({ ...head, data: JSON.parse(data) })
    await insertPlaced(db, { ...event, sequence, body })
  }
}

const insertPlaced = prepared((db: Db, row: Omit<EventRow, 'serial'>) =>
  db.insertInto('events').values(row),
)

export async function lastPlace(db: Db): Promise<number> {
  const [found] = await lastPlaced(db, {})
  return found?.serial ?? 0
}

const lastPlaced = prepared((db: Db, _: object) =>
  db.selectFrom('events').select('serial').orderBy('serial', 'desc').limit(1),
)
