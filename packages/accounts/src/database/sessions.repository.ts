import { type Db, deleteUntil, type FromRow, fromRow, prepared } from '@plinth/kit/database'
import { type Clock, DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { type Insertable, type NotNull, type Selectable, sql } from 'kysely'
import type { AccountTables } from './tables.ts'

type Session = FromRow<Selectable<AccountTables['sessions']>>

export type KnownSession = Pick<Session, 'id' | 'userId' | 'tokenHash' | 'previousHash'> & {
  lastUsedAt: Date
}

/** A session expires when unused for its lifetime, and in any case at a maximum age. */
export type SessionWindow = { now: Date; createdAfter: Date }

type WindowSettings = { clock: Clock; settings: { sessionMaxDays: number } }

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

type NewRow = Insertable<AccountTables['sessions']>

const insert = prepared((db: Db<AccountTables>, row: NewRow) =>
  db.insertInto('sessions').values(row).returning('id'),
)

export async function insertSession(
  db: Db<AccountTables>,
  session: SessionUse & { userId: number; tokenFamily: string; amr: string[] },
): Promise<{ id: number }> {
  const [inserted] = await insert(db, {
    user_id: session.userId,
    token_family: session.tokenFamily,
    generation: 1,
    state: 'active',
    created_at: session.now.toISOString(),
    amr: session.amr.join(' '),
    authenticated_at: session.now.toISOString(),
    ...useColumns(session),
  })
  if (!inserted) throw new Error('The database returned no id for the new session')
  return inserted
}

type Rotation = ReturnType<typeof useColumns> & {
  previous_hash: string
  now: string
  createdAfter: string
}

/**
 * Every condition is part of one update. So exactly one of all concurrent requests with the same token, on
 * any node, succeeds, and a session that was revoked or whose user was disabled is never rotated.
 */
const rotate = prepared((db: Db<AccountTables>, { now, createdAfter, ...columns }: Rotation) => {
  const { previous_hash: presented } = columns
  return db
    .updateTable('sessions')
    .set({ ...columns, generation: sql`generation + 1` })
    .where('token_hash', '=', presented)
    .where('client_id', 'is', null)
    .where('state', '=', 'active')
    .where('expires_at', '>', now)
    .where('created_at', '>', createdAfter)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.user_id')
          .where('users.enabled', '=', 1),
      ),
    )
    .returning(({ selectFrom }) => {
      const user = selectFrom('users').whereRef('users.id', '=', 'sessions.user_id')
      const proof = ['created_at', 'amr', 'authenticated_at'] as const
      const columns = ['username', 'roles', 'last_seen_on'] as const
      return ['id', 'user_id', ...proof, ...columns.map((name) => user.select(name).as(name))]
    })
    .$narrowType<{ username: NotNull; roles: NotNull; last_seen_on: NotNull }>()
})

/** How (RFC 8176) and when the user of a session last authenticated. */
export type Authentication = { amr: string[]; authenticatedAt: Date }

type Rotated = Authentication & {
  id: number
  createdAt: Date
  user: { id: number; username: string; roles: string[]; lastSeenOn: string }
}

/** Replaces the presented token with the next one. */
export async function rotateSession(
  db: Db<AccountTables>,
  presentedHash: string,
  next: SessionUse,
): Promise<Rotated | undefined> {
  const [row] = await rotate(db, {
    ...useColumns(next),
    previous_hash: presentedHash,
    now: next.now.toISOString(),
    createdAfter: next.createdAfter.toISOString(),
  })
  if (!row) return undefined
  const { user_id: userId, username, last_seen_on: lastSeenOn } = row
  const user = { id: userId, username, roles: JSON.parse(row.roles), lastSeenOn }
  return { id: row.id, createdAt: new Date(row.created_at), user, ...authenticationOf(row) }
}

type ProofColumns = Pick<
  Selectable<AccountTables['sessions']>,
  'amr' | 'authenticated_at' | 'created_at'
>

function authenticationOf({ amr, authenticated_at, created_at }: ProofColumns): Authentication {
  return {
    amr: amr ? amr.split(' ') : [],
    authenticatedAt: new Date(authenticated_at ?? created_at),
  }
}

export async function findAuthentication(
  db: Db<AccountTables>,
  sessionId: number,
): Promise<Authentication | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select(['amr', 'authenticated_at', 'created_at'])
    .where('id', '=', sessionId)
    .executeTakeFirst()
  return row && authenticationOf(row)
}

export async function updateAuthentication(
  db: Db<AccountTables>,
  sessionId: number,
  { amr, authenticatedAt }: Authentication,
): Promise<void> {
  const proof = { amr: amr.join(' '), authenticated_at: authenticatedAt.toISOString() }
  await db.updateTable('sessions').set(proof).where('id', '=', sessionId).execute()
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
    .select(['id', 'created_at', 'last_used_at', 'address', 'user_agent', 'client_id'])
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

/** Where a user has logged in or refreshed. Logged-out sessions count until they expire; revoked ones do not. */
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

/**
 * Subtracts two counts, each read from an index alone. The condition must match that of the partial index. The
 * age of a session is in no index, so those over the maximum age are counted until their token expires.
 */
export async function countActiveSessions(db: Db<AccountTables>, now: Date): Promise<number> {
  const unexpired = sql`select count(*) from sessions where expires_at > ${now.toISOString()}`
  const { rows } = await sql<{ total: number }>`
    select (${unexpired}) - (${unexpired} and state <> 'active') as total`.execute(db)
  return rows[0]?.total ?? 0
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
