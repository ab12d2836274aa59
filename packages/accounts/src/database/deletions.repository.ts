import { type Db, fromRow } from '@plinth/kit/database'
import { isReservedName } from '@plinth/service-keys'
import { sql } from 'kysely'
import type { AccountTables } from './tables.ts'
import type { Deletion } from './users.repository.ts'

/** Also disables the account until it is erased. */
export async function saveDeletion(
  db: Db<AccountTables>,
  id: number,
  deletion: Deletion & { at: string },
): Promise<void> {
  const { at, ...about } = deletion
  await db
    .updateTable('users')
    .set({ enabled: 0, deletes_at: at, deletion: JSON.stringify(about) })
    .where('id', '=', id)
    .execute()
}

export async function clearDeletion(
  db: Db<AccountTables>,
  id: number,
  { wasEnabled }: Deletion,
): Promise<void> {
  await db
    .updateTable('users')
    .set({ enabled: wasEnabled ? 1 : 0, deletes_at: null, deletion: null })
    .where('id', '=', id)
    .execute()
}

/** In the order of their ids, from the first one above `after`. */
export async function listDueDeletions(
  db: Db<AccountTables>,
  now: Date,
  { after, most }: { after: number; most: number },
): Promise<number[]> {
  const rows = await db
    .selectFrom('users')
    .select('id')
    .where('deletes_at', '<=', now.toISOString())
    .where('id', '>', after)
    .orderBy('id')
    .limit(most)
    .execute()
  return rows.map(({ id }) => id)
}

/** Deletes the user's row and sessions. Rows of other tables that refer to it must be gone already. */
export async function deleteUser(db: Db<AccountTables>, id: number): Promise<void> {
  await db.deleteFrom('sessions').where('user_id', '=', id).execute()
  await db.deleteFrom('users').where('id', '=', id).execute()
}

/** Keeps the rows, but removes the username from them. */
export async function renameInAudit(
  db: Db<AccountTables>,
  username: string,
  to: string,
  lastId?: number,
): Promise<void> {
  if (isReservedName(username)) return
  await db
    .updateTable('audit_events')
    .set({ subject: to, actor: sql`case actor when ${username} then ${to} else actor end` })
    .where('subject', '=', username)
    .$if(lastId !== undefined, (rows) => rows.where('id', '<=', lastId as number))
    .execute()
  await db
    .updateTable('audit_events')
    .set({ actor: to })
    .where('actor', '=', username)
    .where(sql<boolean>`actor <> subject`)
    .$if(lastId !== undefined, (rows) => rows.where('id', '<=', lastId as number))
    .execute()
}

const RENAMED_AT_ONCE = 2_000

/**
 * Call it before the transaction that renames the rest: one statement for a million rows would exceed its time limit
 * on PostgreSQL and stop everything else on SQLite. A shorter audit is left to that transaction.
 */
export async function shortenAuditToRename(
  db: Db<AccountTables>,
  username: string,
  to: string,
  signal: AbortSignal,
): Promise<void> {
  let after = 0
  while (!signal.aborted) {
    const lastId = await findEndOfBatch(db, username, after)
    if (lastId === undefined) return
    await renameInAudit(db, username, to, lastId)
    after = lastId
  }
}

/** The id up to which neither statement of `renameInAudit` changes more than a batch; undefined if none does. */
async function findEndOfBatch(
  db: Db<AccountTables>,
  username: string,
  after: number,
): Promise<number | undefined> {
  const later = db
    .selectFrom('audit_events')
    .select('id')
    .where('id', '>', after)
    .orderBy('id')
    .offset(RENAMED_AT_ONCE)
    .limit(1)
  const ends = [
    later.where('subject', '=', username),
    later.where('actor', '=', username).where(sql<boolean>`actor <> subject`),
  ]
  const found = await Promise.all(ends.map((end) => end.executeTakeFirst()))
  const ids = found.flatMap((row) => row?.id ?? [])
  return ids.length === 0 ? undefined : Math.min(...ids)
}

/** Every actor and subject of the audit since a time. */
export async function listNamesInAudit(db: Db<AccountTables>, since: Date): Promise<string[]> {
  const rows = db.selectFrom('audit_events').where('at', '>=', since.toISOString())
  const names = await rows.select('actor as name').union(rows.select('subject as name')).execute()
  return names.flatMap(({ name }) => name ?? [])
}

/** Erased since a time, oldest first, while their names are reserved. */
export async function listRecentTombstones(db: Db<AccountTables>, since: Date) {
  const rows = await db
    .selectFrom('tombstones')
    .select(['user_id', 'deleted_at', 'username_hash'])
    .where('deleted_at', '>=', since.toISOString())
    .where('username_hash', 'is not', null)
    .orderBy('deleted_at')
    .execute()
  return rows.map(fromRow)
}

type HeldNames = { usernameHash: string; emailHash: string }

export async function insertTombstone(
  db: Db<AccountTables>,
  userId: number,
  held: HeldNames & { now: Date; until: Date },
): Promise<void> {
  await db
    .insertInto('tombstones')
    .values({
      user_id: userId,
      deleted_at: held.now.toISOString(),
      username_hash: held.usernameHash,
      email_hash: held.emailHash,
      held_until: held.until.toISOString(),
    })
    .execute()
}

/** Which of the names is still reserved by a recently erased account. */
export async function findHeldName(
  db: Db<AccountTables>,
  { usernameHash, emailHash }: Partial<HeldNames>,
  now: Date,
): Promise<'username' | 'email' | undefined> {
  const held = (column: 'username_hash' | 'email_hash', hash: string | undefined) =>
    hash === undefined
      ? undefined
      : db
          .selectFrom('tombstones')
          .select('user_id')
          .where(column, '=', hash)
          .where('held_until', '>', now.toISOString())
          .limit(1)
          .executeTakeFirst()
  if (await held('username_hash', usernameHash)) return 'username'
  return (await held('email_hash', emailHash)) ? 'email' : undefined
}

export async function freeNames(db: Db<AccountTables>, now: Date): Promise<void> {
  await db
    .updateTable('tombstones')
    .set({ username_hash: null, email_hash: null, held_until: null })
    .where('held_until', '<=', now.toISOString())
    .execute()
}

/** In order of erasure. */
export async function listTombstones(
  db: Db<AccountTables>,
  after: { deletedAt: string; userId: number } | undefined,
  most: number,
): Promise<{ userId: number; deletedAt: string }[]> {
  const rows = await db
    .selectFrom('tombstones')
    .select(['user_id', 'deleted_at'])
    .$if(after !== undefined, (all) =>
      all.where(sql<boolean>`(deleted_at, user_id) > (${after?.deletedAt}, ${after?.userId})`),
    )
    .orderBy('deleted_at')
    .orderBy('user_id')
    .limit(most)
    .execute()
  return rows.map((row) => ({ userId: row.user_id, deletedAt: row.deleted_at }))
}
