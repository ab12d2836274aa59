import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit'
import type { IdentityTables } from './tables.ts'

type TokenRow = IdentityTables['one_time_tokens']

export type OneTimeToken = FromRow<TokenRow>

/** Replaces the unused token of the same user and kind. */
export async function replaceToken(db: Db<IdentityTables>, token: OneTimeToken): Promise<void> {
  await db
    .updateTable('one_time_tokens')
    .set({ replaced_at: token.createdAt })
    .where('user_id', '=', token.userId)
    .where('kind', '=', token.kind)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .execute()
  await db.insertInto('one_time_tokens').values(toRow<TokenRow>(token)).execute()
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

/**
 * Counts one more try of a code, in the statement that finds the token: of parallel tries no more
 * than `most` see it.
 */
export async function tryCode(
  db: Db<IdentityTables>,
  { address, kind }: Pick<OneTimeToken, 'address' | 'kind'>,
  most: number,
): Promise<OneTimeToken | undefined> {
  const row = await db
    .updateTable('one_time_tokens')
    .set(({ eb }) => ({ failures: eb('failures', '+', 1) }))
    .where('address', '=', address)
    .where('kind', '=', kind)
    .where('used_at', 'is', null)
    .where('replaced_at', 'is', null)
    .where('failures', '<', most)
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

/** Of several uses of one token, one succeeds. */
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

/** The newest of each kind, if unused; the others stay, so that their links can say why they do not work. */
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
