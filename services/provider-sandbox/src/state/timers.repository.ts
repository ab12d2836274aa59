import type { Db } from '@plinth/kit'
import type { RequestRow, SandboxTables, TimerRow } from './tables.ts'

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

const MOST_KEPT = 10_000

const TIDIED_EVERY = 1000

/** Keeps the newest requests; the others are tidied away from time to time. */
export async function insertRequest(db: Db<SandboxTables>, request: RequestRow): Promise<void> {
  const { seq } = await db
    .insertInto('requests')
    .values(request)
    .returning('seq')
    .executeTakeFirstOrThrow()
  if (seq % TIDIED_EVERY === 0)
    await db
      .deleteFrom('requests')
      .where('seq', '<=', seq - MOST_KEPT)
      .execute()
}

/** Newest first. */
export async function listRequests(db: Db<SandboxTables>, limit: number): Promise<RequestRow[]> {
  return db.selectFrom('requests').selectAll().orderBy('seq', 'desc').limit(limit).execute()
}
