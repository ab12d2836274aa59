import type { Db } from './tables.ts'

/** Marks the database as restored: the provider has to be asked first. */
export async function insertRestore(db: Db, at: Date): Promise<void> {
  await db
    .insertInto('restores')
    .values({ at: at.toISOString() })
    .onConflict((conflict) => conflict.doNothing())
    .execute()
}

export async function isRestored(db: Db): Promise<boolean> {
  const row = await db.selectFrom('restores').select('at').executeTakeFirst()
  return row !== undefined
}

export async function deleteRestores(db: Db): Promise<void> {
  await db.deleteFrom('restores').execute()
}
