import type { Db } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type ChangedSetting = { value: string; changedAt: string }
type Name = IdentityTables['changed_settings']['name']

export async function findChangedSetting(
  db: Db<IdentityTables>,
  name: Name,
): Promise<ChangedSetting | undefined> {
  return db
    .selectFrom('changed_settings')
    .select(['value', 'changed_at as changedAt'])
    .where('name', '=', name)
    .executeTakeFirst()
}

export async function upsertChangedSetting(
  db: Db<IdentityTables>,
  name: Name,
  { value, changedAt: changed_at }: ChangedSetting,
): Promise<void> {
  await db
    .insertInto('changed_settings')
    .values({ name, value, changed_at })
    .onConflict((conflict) => conflict.column('name').doUpdateSet({ value, changed_at }))
    .execute()
}

export async function deleteChangedSetting(db: Db<IdentityTables>, name: Name): Promise<void> {
  await db.deleteFrom('changed_settings').where('name', '=', name).execute()
}
