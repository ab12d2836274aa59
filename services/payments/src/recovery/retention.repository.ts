import { hash } from 'node:crypto'
import type { Db } from '../payment/database/tables.ts'

const BATCH = 500

/** How far a table has been cleared: the time and the key of the last row that was looked at. */
type Mark = { at: string; key: string }

async function findMark(db: Db, name: string): Promise<Mark> {
  const row = await db
    .selectFrom('clearings')
    .select(['at', 'key'])
    .where('name', '=', name)
    .executeTakeFirst()
  return row ?? { at: '', key: '' }
}

async function upsertMark(db: Db, name: string, mark: Mark): Promise<void> {
  await db
    .insertInto('clearings')
    .values({ name, ...mark })
    .onConflict((conflict) => conflict.column('name').doUpdateSet(mark))
    .execute()
}

const EVENTS = 'cleared-events'

/**
 * Clears the next batch of events received until `until`; false when it was the last. The row of an event that was
 * applied stays, because it is the claim that keeps the event from being applied again; only its body goes. One that was
 * ignored is deleted. Events that failed, or that wait for their payment, are left whole, and remembered until they have
 * been applied.
 */
export async function updateOldEvents(db: Db, until: Date): Promise<boolean> {
  const mark = await findMark(db, EVENTS)
  const rows = await db
    .selectFrom('webhook_events')
    .select(['id', 'received_at'])
    .where('received_at', '>=', mark.at)
    .where('received_at', '<=', until.toISOString())
    .where(({ or, eb }) => or([eb('received_at', '>', mark.at), eb('id', '>', mark.key)]))
    .orderBy('received_at')
    .orderBy('id')
    .limit(BATCH)
    .execute()
  const last = rows.at(-1)
  if (!last) return false
  await clearEvents(
    db,
    rows.map(({ id }) => id),
  )
  await insertLeft(db, rows)
  await upsertMark(db, EVENTS, { at: last.received_at, key: last.id })
  return rows.length === BATCH
}

/** What is applied or ignored. */
async function clearEvents(db: Db, ids: string[]): Promise<void> {
  await db
    .deleteFrom('webhook_events')
    .where('id', 'in', ids)
    .where('status', '=', 'IGNORED')
    .where('payment_id', 'is', null)
    .execute()
  await db
    .updateTable('webhook_events')
    .set({ body: '' })
    .where('id', 'in', ids)
    .where('status', 'in', ['PROCESSED', 'IGNORED'])
    .where('parked_for', 'is', null)
    .execute()
}

const LEFT = 'left '

async function insertLeft(db: Db, rows: { id: string; received_at: string }[]): Promise<void> {
  const left = await db
    .selectFrom('webhook_events')
    .select(['id', 'received_at'])
    .where(
      'id',
      'in',
      rows.map(({ id }) => id),
    )
    .where(({ or, eb }) =>
      or([eb('status', 'not in', ['PROCESSED', 'IGNORED']), eb('parked_for', 'is not', null)]),
    )
    .execute()
  if (left.length === 0) return
  // A name has 64 characters, and an id may have more.
  const nameOf = (id: string) => LEFT + hash('sha256', id).slice(0, 48)
  await db
    .insertInto('clearings')
    .values(left.map(({ id, received_at: at }) => ({ name: nameOf(id), at, key: id })))
    .onConflict((conflict) => conflict.column('name').doNothing())
    .execute()
}

/** Clears the next batch of events that were left, and have been applied or ignored since; false when it was the last. */
export async function updateLeftEvents(db: Db): Promise<boolean> {
  const rows = await db
    .selectFrom('clearings')
    .innerJoin('webhook_events', 'webhook_events.id', 'clearings.key')
    .select(['clearings.name', 'clearings.key'])
    .where('clearings.name', 'like', `${LEFT}%`)
    .where('webhook_events.status', 'in', ['PROCESSED', 'IGNORED'])
    .where('webhook_events.parked_for', 'is', null)
    .limit(BATCH)
    .execute()
  if (rows.length === 0) return false
  await clearEvents(
    db,
    rows.map(({ key }) => key),
  )
  await db
    .deleteFrom('clearings')
    .where(
      'name',
      'in',
      rows.map(({ name }) => name),
    )
    .execute()
  return rows.length === BATCH
}

const OBSERVATIONS = 'cleared-observations'

/**
 * Deletes what no timeline needs from the next batch of observations made until `until`: those of no payment, and
 * look-ups that changed nothing. False when it was the last batch.
 */
export async function deleteOldObservations(db: Db, until: Date): Promise<boolean> {
  const after = Number((await findMark(db, OBSERVATIONS)).key)
  const rows = await db
    .selectFrom('observations')
    .select(['id', 'at'])
    .where('id', '>', after)
    .orderBy('id')
    .limit(BATCH)
    .execute()
  const old = rows.slice(0, rows.findLastIndex(({ at }) => at <= until.toISOString()) + 1)
  const last = old.at(-1)
  if (!last) return false
  await db
    .deleteFrom('observations')
    .where('id', '>', after)
    .where('id', '<=', last.id)
    .where('at', '<=', until.toISOString())
    .where(({ or, and, eb }) =>
      or([
        eb('payment_id', 'is', null),
        and([
          eb('source', '=', 'look-up'),
          eb('status_before', '=', eb.ref('status_after')),
          eb('anomaly', 'is', null),
        ]),
      ]),
    )
    .execute()
  await upsertMark(db, OBSERVATIONS, { at: last.at, key: String(last.id) })
  return old.length === BATCH
}
