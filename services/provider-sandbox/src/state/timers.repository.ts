import type { Db } from '@plinth/kit'
import type { SandboxTables, TimerRow } from './tables.ts'

export async function insertTimer(
  db: Db<SandboxTables>,
  action: string,
  objectId: string,
  dueAt: Date,
): Promise<void> {
  await db
    .insertInto('timers')
    .values({ action, object_id: objectId, due_at: dueAt.toISOString() })
    .execute()
}

/** The earliest timer that is due at `now`. */
export async function findDueTimer(
  db: Db<SandboxTables>,
  now: Date,
): Promise<TimerRow | undefined> {
  return db
    .selectFrom('timers')
    .selectAll()
    .where('due_at', '<=', now.toISOString())
    .orderBy('due_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
}

export async function deleteTimer(db: Db<SandboxTables>, id: number): Promise<void> {
  await db.deleteFrom('timers').where('id', '=', id).execute()
}

export async function deleteTimersOf(db: Db<SandboxTables>, objectId: string): Promise<void> {
  await db.deleteFrom('timers').where('object_id', '=', objectId).execute()
}
