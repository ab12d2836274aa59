import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

type TokenRow = IdentityTables['one_time_tokens']

export type OneTimeToken = FromRow<TokenRow>

/** Replaces the unused token of the same user and kind, even one that a concurrent request inserts. */
export async function replaceToken(db: Db<IdentityTables>, token: OneTimeToken): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set({ replaced_at: token.createdAt })
    .where('user_id', '=', token.userId)
    .where('kind', '=', token.kind)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .execute()
  const row = toRow<TokenRow>(token)
  await db
    .insertInto('one_time_tokens')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['user_id', 'kind'])
        .where('used_at', 'is', null)
        .where('replaced_at', 'is', null)
        .doUpdateSet(row),
    )
    .execute()
}

/** The token that is neither used, replaced nor expired. */
export async function findUnusedToken(
  db: Db<IdentityTables>,
  { userId, kind }: Pick<OneTimeToken, 'userId' | 'kind'>,
  now: Date,
): Promise<OneTimeToken | undefined> {
  const row = await db
    .selectFrom('one_time_tokens')
    .selectAll()
    .where('user_id', '=', userId)
    .where('kind', '=', kind)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Other users' unused tokens of this kind for the address. */
export async function listTokensOfOthers(
  db: Db<IdentityTables>,
  { userId, kind, address }: Pick<OneTimeToken, 'userId' | 'kind' | 'address'>,
  now: Date,
): Promise<OneTimeToken[]> {
  const rows = await db
    .selectFrom('one_time_tokens')
    .selectAll()
    .where('address', '=', address)
    .where('kind', '=', kind)
    .where('user_id', '<>', userId)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .execute()
  return rows.map(fromRow)
}

type NewKind = { from: string; to: string; now: Date; expiresAt: Date }

/** Changes the kind of an unused token, so that the next token of its old kind does not replace it. */
export async function changeKind(
  db: Db<IdentityTables>,
  userId: number,
  { from, to, now, expiresAt }: NewKind,
): Promise<void> {
  await deleteTokens(db, userId, [to])
  await db
    .updateTable('one_time_tokens')
    .set({ kind: to, expires_at: expiresAt.toISOString() })
    .where('user_id', '=', userId)
    .where('kind', '=', from)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .execute()
}

export async function findTokenByHash(
  db: Db<IdentityTables>,
  tokenHash: string,
): Promise<OneTimeToken | undefined> {
  const row = await db
    .selectFrom('one_time_tokens')
    .selectAll()
    .where('token_hash', '=', tokenHash)
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Several accounts can request a change to the same address. */
const MAX_TRIED = 10

/**
 * Counts a try of a code in the statement that finds the tokens, so at most `most` concurrent tries see a
 * token. Returns the unused tokens or, if there are none, the newest used one; none that had `most` tries.
 */
export async function tryCode(
  db: Db<IdentityTables>,
  { address, kind }: Pick<OneTimeToken, 'address' | 'kind'>,
  most: number,
): Promise<OneTimeToken[]> {
  const unusedFirst = db
    .selectFrom('one_time_tokens')
    .select('id')
    .where('address', '=', address)
    .where('kind', '=', kind)
    .where('replaced_at', 'is', null)
    .orderBy(sql`case when used_at is null then 0 else 1 end`)
    .orderBy('created_at', 'desc')
  const tried = unusedFirst
    .where(({ eb, or }) => or([eb('used_at', 'is', null), eb('id', '=', unusedFirst.limit(1))]))
    .limit(MAX_TRIED)
  const rows = await db
    .updateTable('one_time_tokens')
    .set(({ eb }) => ({ failures: eb('failures', '+', 1) }))
    .where('id', 'in', tried)
    .where('failures', '<', most)
    .returningAll()
    .execute()
  return rows.map(fromRow)
}

/** Takes back the count of a try with the right code. */
export async function forgiveTry(db: Db<IdentityTables>, id: string): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set(({ eb }) => ({ failures: eb('failures', '-', 1) }))
    .where('id', '=', id)
    .execute()
}

/** Only one of several concurrent uses of a token succeeds. */
export async function spendToken(db: Db<IdentityTables>, id: string, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('one_time_tokens')
    .set({ used_at: now.toISOString() })
    .where('id', '=', id)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Deletes the current token of each kind; used and replaced ones stay, so that their links can say why they fail. */
export async function deleteTokens(
  db: Db<IdentityTables>,
  userId: number,
  kinds: string[],
): Promise<void> {
  await db
    .deleteFrom('one_time_tokens')
    .where('user_id', '=', userId)
    .where('kind', 'in', kinds)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .execute()
}

export function deleteTokensExpiredBy(db: Db<IdentityTables>, time: Date, signal: AbortSignal) {
  const expired = { table: 'one_time_tokens', key: 'id', column: 'expires_at' }
  return deleteUntil(db, expired, time, signal)
}
