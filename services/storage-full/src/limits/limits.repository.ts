import type { StorageDb } from '../database/tables.ts'

export type ChangedLimit = { name: string; value: number; changedAt: string }

export async function listChangedLimits(db: StorageDb): Promise<ChangedLimit[]> {
  return db
    .selectFrom('changed_limits')
    .select(['name', 'value', 'changed_at as changedAt'])
    .execute()
}

export async function upsertChangedLimit(
  db: StorageDb,
  { name, value, changedAt: changed_at }: ChangedLimit,
): Promise<void> {
  await db
    .insertInto('changed_limits')
    .values({ name, value, changed_at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, changed_at }))
    .execute()
}

export async function deleteChangedLimit(db: StorageDb, name: string): Promise<void> {
  await db.deleteFrom('changed_limits').where('name', '=', name).execute()
}
