import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

type HeldRow = IdentityTables['held_registrations']

export type Held = FromRow<HeldRow>

export async function insertHeld(db: Db<IdentityTables>, held: Held): Promise<void> {
  await db.insertInto('held_registrations').values(toRow<HeldRow>(held)).execute()
}

export async function findHeldByHash(
  db: Db<IdentityTables>,
  tokenHash: string,
): Promise<Held | undefined> {
  const row = await db
    .selectFrom('held_registrations')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** The latest unused registration of an address that has been mailed, or has not. */
export async function findHeld(
  db: Db<IdentityTables>,
  address: string,
  { mailed }: { mailed: boolean },
): Promise<Held | undefined> {
  const row = await db
    .selectFrom('held_registrations')
    .selectAll()
    .where('address', '=', address)
    .where('used_at', 'is', null)
    .where('token_hash', mailed ? 'is not' : 'is', null)
    .orderBy('created_at', 'desc')
    .limit(1)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Deletes other mailed registrations of the address, so that only the newest mail works. */
export async function saveSecrets(
  db: Db<IdentityTables>,
  { id, address }: Pick<Held, 'id' | 'address'>,
  { tokenHash, codeHash }: { tokenHash: string; codeHash: string },
): Promise<void> {
  await db
    .deleteFrom('held_registrations')
    .where('address', '=', address)
    .where('id', '<>', id)
    .where('used_at', 'is', null)
    .where('token_hash', 'is not', null)
    .execute()
  await db
    .updateTable('held_registrations')
    .set({ token_hash: tokenHash, code_hash: codeHash, failures: 0 })
    .where('id', '=', id)
    .execute()
}

/** Like `tryCode` of one-time tokens: the statement that finds it counts the try, and finds a used one too. */
export async function tryHeldCode(
  db: Db<IdentityTables>,
  address: string,
  most: number,
): Promise<Held[]> {
  const rows = await db
    .updateTable('held_registrations')
    .set(({ eb }) => ({ failures: eb('failures', '+', 1) }))
    .where('id', '=', (registrations) =>
      registrations
        .selectFrom('held_registrations')
        .select('id')
        .where('address', '=', address)
        .where('token_hash', 'is not', null)
        .orderBy(sql`case when used_at is null then 0 else 1 end`)
        .orderBy('created_at', 'desc')
        .limit(1),
    )
    .where('failures', '<', most)
    .returningAll()
    .execute()
  return rows.map(fromRow)
}

export async function forgiveHeldTry(db: Db<IdentityTables>, id: string): Promise<void> {
  await db
    .updateTable('held_registrations')
    .set(({ eb }) => ({ failures: eb('failures', '-', 1) }))
    .where('id', '=', id)
    .execute()
}

/** If several registrations of an address are waiting, drops their passwords: one may be a stranger's. */
export async function dropPasswords(
  db: Db<IdentityTables>,
  address: string,
  now: Date,
): Promise<void> {
  await db
    .updateTable('held_registrations')
    .set({ password_hash: '' })
    .where('address', '=', address)
    .where('used_at', 'is', null)
    .where(
      (waiting) =>
        waiting
          .selectFrom('held_registrations')
          .select(({ fn }) => fn.countAll<number>().as('total'))
          .where('address', '=', address)
          .where('used_at', 'is', null)
          .where('expires_at', '>', now.toISOString()),
      '>',
      1,
    )
    .execute()
}

/** Only one of several concurrent uses succeeds. It gets the password hash, which is then deleted. */
export async function spendHeld(
  db: Db<IdentityTables>,
  id: string,
  now: Date,
): Promise<{ passwordHash: string } | undefined> {
  const spent = await db
    .updateTable('held_registrations')
    .set({ used_at: now.toISOString() })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .returning('password_hash')
    .executeTakeFirst()
  if (!spent) return undefined
  await db
    .updateTable('held_registrations')
    .set({ password_hash: '' })
    .where('id', '=', id)
    .execute()
  return fromRow(spent)
}

export async function deleteHeld(db: Db<IdentityTables>, id: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('held_registrations')
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

export function deleteExpiredHeld(db: Db<IdentityTables>, now: Date, signal: AbortSignal) {
  const expired = { table: 'held_registrations', key: 'id', column: 'expires_at' }
  return deleteUntil(db, expired, now, signal)
}
