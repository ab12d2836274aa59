import { type Expression, type SqlBool, sql } from 'kysely'
import { firstEventIdAt } from './outbox.repository.ts'
import type { Db, Trigger } from './tables.ts'

type Repeat = { endpointId: string; trigger: Trigger; now: Date }

/**
 * Restarts the schedule of existing deliveries and creates the missing ones; recorded attempts are kept.
 * Runs in the caller's transaction. Returns the number of deliveries.
 */
export async function repeatEvent(db: Db, serial: number, repeat: Repeat): Promise<number> {
  const restarted = await restartSchedule(db, repeat, sql<SqlBool>`event_serial = ${serial}`)
  return restarted + (await insertMissing(db, repeat, sql<SqlBool>`serial = ${serial}`))
}

type Window = { since: Date; until: Date; types: string[]; failedOnly: boolean }

export async function repeatWindow(db: Db, window: Window, repeat: Repeat): Promise<number> {
  const { since, until, types, failedOnly } = window
  const isWanted =
    types.length === 0 ? sql<SqlBool>`true` : sql<SqlBool>`type in (${sql.join(types)})`
  const after = new Date(until.getTime() + 1)
  const inWindow = sql<SqlBool>`id >= ${firstEventIdAt(since)} and id < ${firstEventIdAt(after)} and ${isWanted}
    and (endpoint_id is null or endpoint_id = ${repeat.endpointId})`
  const isDue = failedOnly ? sql<SqlBool>`state = 'failed'` : sql<SqlBool>`state <> 'pending'`
  const serials = sql`(select serial from events where ${inWindow})`
  const restarted = await restartSchedule(
    db,
    repeat,
    sql<SqlBool>`${isDue} and event_serial in ${serials}`,
  )
  return failedOnly ? restarted : restarted + (await insertMissing(db, repeat, inWindow))
}

async function restartSchedule(
  db: Db,
  { endpointId, trigger, now }: Repeat,
  which: Expression<SqlBool>,
): Promise<number> {
  const { numUpdatedRows } = await db
    .updateTable('event_deliveries')
    .set(({ ref }) => ({
      state: 'pending',
      attempts_before: ref('attempts'),
      trigger,
      next_attempt_at: now.toISOString(),
    }))
    .where('endpoint_id', '=', endpointId)
    .where(which)
    .executeTakeFirst()
  return Number(numUpdatedRows)
}

async function insertMissing(
  db: Db,
  { endpointId, trigger, now }: Repeat,
  which: Expression<SqlBool>,
): Promise<number> {
  const inserted = await sql`
    insert into event_deliveries
      (event_serial, endpoint_id, state, attempts, attempts_before, ${sql.ref('trigger')}, next_attempt_at)
    select serial, ${endpointId}, 'pending', 0, 0, ${trigger}, ${now.toISOString()}
    from events where ${which}
    on conflict (event_serial, endpoint_id) do nothing`.execute(db)
  return Number(inserted.numAffectedRows ?? 0)
}
