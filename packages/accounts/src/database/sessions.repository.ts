import { type Clock, type Db, deleteUntil, type FromRow, fromRow, secondsAfter } from '@plinth/kit'
import { type Selectable, sql, type UpdateResult } from 'kysely'
import type { AccountTables } from './tables.ts'

type Session = FromRow<Selectable<AccountTables['sessions']>>

export type KnownSession = Pick<Session, 'id' | 'userId' | 'tokenHash' | 'previousHash'> & {
  lastUsedAt: Date
}

/** A session ends when it is not used for its lifetime, and in any case some time after it began. */
export type SessionWindow = { now: Date; createdAfter: Date }

const DAY_SECONDS = 86_400

type WindowSettings = { clock: Clock; settings: { sessionMaxDays: number } }

/** When a session must have begun and been used to be active now. */
export function sessionWindow({ clock, settings }: WindowSettings): SessionWindow {
  const now = clock()
  return { now, createdAfter: secondsAfter(now, -settings.sessionMaxDays * DAY_SECONDS) }
}

type SessionUse = SessionWindow & {
  tokenHash: string
  expiresAt: Date
  address: string
  userAgent: string | null
}

export async function insertSession(
  db: Db<AccountTables>,
  session: SessionUse & { userId: number; tokenFamily: string },
): Promise<{ id: number }> {
  return db
    .insertInto('sessions')
    .values({
      user_id: session.userId,
      token_family: session.tokenFamily,
      generation: 1,
      state: 'active',
      created_at: session.now.toISOString(),
      ...useColumns(session),
    })
    .returning('id')
    .executeTakeFirstOrThrow()
}

/**
 * Replaces the presented token by the next one. Every condition is part of one update, so of all
 * concurrent requests with one token, on any node, exactly one succeeds, and a session that was
 * revoked or whose user was disabled is never rotated.
 */
export async function rotateSession(
  db: Db<AccountTables>,
  presentedHash: string,
  next: SessionUse,
): Promise<{ id: number; userId: number; createdAt: Date } | undefined> {
  const row = await db
    .updateTable('sessions')
    .set({
      ...useColumns(next),
      previous_hash: presentedHash,
      generation: sql`generation + 1`,
    })
    .where('token_hash', '=', presentedHash)
    .where('state', '=', 'active')
    .where('expires_at', '>', next.now.toISOString())
    .where('created_at', '>', next.createdAfter.toISOString())
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.user_id')
          .where('users.enabled', '=', 1),
      ),
    )
    .returning(['id', 'user_id', 'created_at'])
    .executeTakeFirst()
  return row && { id: row.id, userId: row.user_id, createdAt: new Date(row.created_at) }
}

export async function findSessionByFamily(
  db: Db<AccountTables>,
  tokenFamily: string,
): Promise<KnownSession | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'token_hash', 'previous_hash', 'last_used_at'])
    .where('token_family', '=', tokenFamily)
    .executeTakeFirst()
  return row && { ...fromRow(row), lastUsedAt: new Date(row.last_used_at) }
}

export async function listLiveSessions(
  db: Db<AccountTables>,
  userId: number,
  { now, createdAfter }: SessionWindow,
) {
  const rows = await db
    .selectFrom('sessions')
    .select(['id', 'created_at', 'last_used_at', 'address', 'user_agent'])
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
    .where('created_at', '>', createdAfter.toISOString())
    .orderBy('last_used_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1000)
    .execute()
  return rows.map(fromRow)
}

/** Where a user has logged in or refreshed: sessions that logged out count until they expire, revoked ones do not. */
export async function listSessionAddresses(
  db: Db<AccountTables>,
  userId: number,
  now: Date,
): Promise<string[]> {
  const rows = await db
    .selectFrom('sessions')
    .select('address')
    .distinct()
    .where('user_id', '=', userId)
    .where('state', '!=', 'revoked')
    .where('expires_at', '>', now.toISOString())
    .limit(1000)
    .execute()
  return rows.map(({ address }) => address)
}

/** Ended ones included until they expire, because that is read from an index alone. */
export async function countUnexpiredSessions(db: Db<AccountTables>, now: Date): Promise<number> {
  const { total } = await db
    .selectFrom('sessions')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirstOrThrow()
  return total
}

/** Ends an active session of one user. Its access tokens stay valid until they expire. */
export function logOutSession(
  db: Db<AccountTables>,
  userId: number,
  choice: { id: number } | { tokenHash: string },
  window: SessionWindow,
): Promise<boolean> {
  const active = activeSessions(db, userId, window).set({ state: 'logged_out' })
  const chosen =
    'id' in choice
      ? active.where('id', '=', choice.id)
      : active.where('token_hash', '=', choice.tokenHash)
  return hasChanged(chosen)
}

/** Ends an active session of one user, and refuses its access tokens from now on. */
export function revokeSession(
  db: Db<AccountTables>,
  userId: number,
  id: number,
  window: SessionWindow,
): Promise<boolean> {
  return hasChanged(
    activeSessions(db, userId, window).set({ state: 'revoked' }).where('id', '=', id),
  )
}

/** Does so with a session that logged out, too. */
export function revokeAnySession(
  db: Db<AccountTables>,
  userId: number,
  id: number,
): Promise<boolean> {
  return hasChanged(
    db
      .updateTable('sessions')
      .set({ state: 'revoked' })
      .where('user_id', '=', userId)
      .where('id', '=', id)
      .where('state', '!=', 'revoked'),
  )
}

export async function isSessionActive(
  db: Db<AccountTables>,
  id: number,
  { now, createdAfter }: SessionWindow,
): Promise<boolean> {
  const row = await db
    .selectFrom('sessions')
    .select('id')
    .where('id', '=', id)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
    .where('created_at', '>', createdAfter.toISOString())
    .executeTakeFirst()
  return row !== undefined
}

/** Does so with all sessions of one user, or all but one, those that logged out included. */
export async function revokeSessions(
  db: Db<AccountTables>,
  userId: number,
  { except }: { except?: number } = {},
): Promise<void> {
  const all = db
    .updateTable('sessions')
    .set({ state: 'revoked' })
    .where('user_id', '=', userId)
    .where('state', '!=', 'revoked')
  await (except === undefined ? all : all.where('id', '!=', except)).execute()
}

function activeSessions(
  db: Db<AccountTables>,
  userId: number,
  { now, createdAfter }: SessionWindow,
) {
  return db
    .updateTable('sessions')
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
    .where('created_at', '>', createdAfter.toISOString())
}

async function hasChanged(update: {
  executeTakeFirstOrThrow(): Promise<UpdateResult>
}): Promise<boolean> {
  const { numUpdatedRows } = await update.executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

export function deleteExpiredSessions(db: Db<AccountTables>, now: Date, signal: AbortSignal) {
  const expired = { table: 'sessions', key: 'id', column: 'expires_at' }
  return deleteUntil(db, expired, now, signal)
}

function useColumns(use: SessionUse) {
  return {
    token_hash: use.tokenHash,
    last_used_at: use.now.toISOString(),
    expires_at: use.expiresAt.toISOString(),
    address: use.address,
    user_agent: use.userAgent,
  }
}
