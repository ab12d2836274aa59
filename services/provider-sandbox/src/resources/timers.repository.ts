import type { SandboxDb } from '../state/tables.ts'

export type TimerAction =
  | 'expire-session'
  | 'settle-payment'
  | 'fail-payment'
  | 'settle-refund'
  | 'fail-refund'

export type Timer = { id: number; dueAt: Date; action: TimerAction; objectId: string }

export async function insertTimer(
  db: SandboxDb,
  action: TimerAction,
  objectId: string,
  dueAt: Date,
): Promise<void> {
  await db
    .insertInto('timers')
    .values({ action, object_id: objectId, due_at: dueAt.toISOString() })
    .execute()
}

/** The earliest timer that is due at `now`. */
export async function findDueTimer(db: SandboxDb, now: Date): Promise<Timer | undefined> {
  const row = await db
    .selectFrom('timers')
    .selectAll()
    .where('due_at', '<=', now.toISOString())
    .orderBy('due_at')
    .orderBy('id')
    .limit(1)
    .executeTakeFirst()
  if (!row) return undefined
  const action = row.action as TimerAction
  return { id: row.id, dueAt: new Date(row.due_at), action, objectId: row.object_id }
}

export async function deleteTimer(db: SandboxDb, id: number): Promise<void> {
  await db.deleteFrom('timers').where('id', '=', id).execute()
}

export async function deleteTimersOf(db: SandboxDb, objectId: string): Promise<void> {
  await db.deleteFrom('timers').where('object_id', '=', objectId).execute()
}
