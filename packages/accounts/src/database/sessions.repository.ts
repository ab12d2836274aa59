import type { Db } from '@plinth/kit'
import { type Selectable, sql } from 'kysely'
import type { AccountTables } from './tables.ts'

type Session = {
  id: number
  userId: number
  active: boolean
  createdAt: string
  lastUsedAt: string
  address: string
  userAgent: string | null
}

export type KnownSession = Session & { tokenHash: string }

type SessionUse = {
  tokenHash: string
  now: Date
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
): Promise<{ id: number; userId: number } | undefined> {
  const row = await db
    .updateTable('sessions')
    .set({ ...useColumns(next), generation: sql`generation + 1` })
    .where('token_hash', '=', presentedHash)
    .where('state', '=', 'active')
    .where('expires_at', '>', next.now.toISOString())
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.user_id')
          .where('users.enabled', '=', 1),
      ),
    )
    .returning(['id', 'user_id'])
    .executeTakeFirst()
  return row && { id: row.id, userId: row.user_id }
}

export async function findSessionByFamily(
  db: Db<AccountTables>,
  tokenFamily: string,
): Promise<KnownSession | undefined> {
  const row = await db
    .selectFrom('sessions')
    .selectAll()
    .where('token_family', '=', tokenFamily)
    .executeTakeFirst()
  return row && { ...sessionOf(row), tokenHash: row.token_hash }
}

export async function listLiveSessions(
  db: Db<AccountTables>,
  userId: number,
  now: Date,
): Promise<Session[]> {
  const rows = await db
    .selectFrom('sessions')
    .selectAll()
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
    .orderBy('last_used_at', 'desc')
    .orderBy('id', 'desc')
    .limit(1000)
    .execute()
  return rows.map(sessionOf)
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

/** Which of a user's sessions to end. */
type SessionChoice = { id: number } | { tokenHash: string } | { otherThan: number } | 'all'

/** Ends active sessions of one user and returns how many. */
export async function revokeSessions(
  db: Db<AccountTables>,
  userId: number,
  choice: SessionChoice,
  now: Date,
): Promise<number> {
  let query = db
    .updateTable('sessions')
    .set({ state: 'revoked' })
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('expires_at', '>', now.toISOString())
  if (choice !== 'all') {
    if ('id' in choice) query = query.where('id', '=', choice.id)
    else if ('tokenHash' in choice) query = query.where('token_hash', '=', choice.tokenHash)
    else query = query.where('id', '!=', choice.otherThan)
  }
  const { numUpdatedRows } = await query.executeTakeFirstOrThrow()
  return Number(numUpdatedRows)
}

/** Removes at most `limit` expired rows and returns how many. */
export async function deleteExpiredSessions(
  db: Db<AccountTables>,
  now: Date,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('sessions')
    .where('id', 'in', (sub) =>
      sub
        .selectFrom('sessions')
        .select('id')
        .where('expires_at', '<=', now.toISOString())
        .orderBy('expires_at')
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
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

function sessionOf(row: Selectable<AccountTables['sessions']>): Session {
  return {
    id: row.id,
    userId: row.user_id,
    active: row.state === 'active',
    createdAt: row.created_at,
    lastUsedAt: row.last_used_at,
    address: row.address,
    userAgent: row.user_agent,
  }
}
