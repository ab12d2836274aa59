import { type Db, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import type { Selectable } from 'kysely'
import type { IdentityTables } from './tables.ts'

type IdentityRow = Selectable<IdentityTables['identities']>

type NewRow = Omit<IdentityRow, 'id'>

export type Identity = FromRow<IdentityRow>

type Key = Pick<Identity, 'issuer' | 'subject'>

/** The unique index lets one of several concurrent links of an identity succeed. */
export async function insertIdentity(
  db: Db<IdentityTables>,
  identity: FromRow<NewRow>,
): Promise<void> {
  await db.insertInto('identities').values(toRow<NewRow>(identity)).execute()
}

export async function findIdentity(
  db: Db<IdentityTables>,
  { issuer, subject }: Key,
): Promise<Identity | undefined> {
  const row = await db
    .selectFrom('identities')
    .selectAll()
    .where('issuer', '=', issuer)
    .where('subject', '=', subject)
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function listIdentities(db: Db<IdentityTables>, userId: number): Promise<Identity[]> {
  const rows = await db
    .selectFrom('identities')
    .selectAll()
    .where('user_id', '=', userId)
    .orderBy('id')
    .execute()
  return rows.map(fromRow)
}

/** Returns whether the identity is still linked to the user. The operator may have renamed the provider. */
export async function updateUsed(
  db: Db<IdentityTables>,
  { id, userId }: Pick<Identity, 'id' | 'userId'>,
  { provider, email, now }: Pick<Identity, 'provider' | 'email'> & { now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('identities')
    .set({ last_used_at: now.toISOString(), provider, email })
    .where('id', '=', id)
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Deletes one identity of a user, or all of them, and returns how many. */
export async function deleteIdentities(
  db: Db<IdentityTables>,
  userId: number,
  choice: { id: number } | 'all',
): Promise<number> {
  const all = db.deleteFrom('identities').where('user_id', '=', userId)
  const chosen = choice === 'all' ? all : all.where('id', '=', choice.id)
  const { numDeletedRows } = await chosen.executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
