import type { SessionWindow } from '@plinth/accounts'
import { type Db, prepared } from '@plinth/kit/database'
import { type Insertable, type NotNull, type Selectable, sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

/** What tokens and replies say about a user. */
export type SessionUser = {
  id: number
  username: string
  email: string
  verified: boolean
  roles: string[]
  secondFactor: boolean
  lastSeenOn: string
}

/** The session of a browser that is signed in to the hosted page. */
export type BrowserSession = {
  id: number
  user: SessionUser
  amr: string[]
  authenticatedAt: Date
  createdAt: Date
  expiresAt: Date
  remembered: boolean
  address: string
  userAgent: string | null
}

const USER_COLUMNS = [
  'users.id as user_id',
  'users.username as username',
  'users.email as email',
  'users.verified as verified',
  'users.roles as roles',
  'users.second_factor as second_factor',
  'users.last_seen_on as last_seen_on',
] as const

type UserColumns = Pick<
  Selectable<IdentityTables['users']>,
  'username' | 'email' | 'verified' | 'roles' | 'second_factor' | 'last_seen_on'
> & { user_id: number }

function userOf(row: UserColumns): SessionUser {
  return {
    id: Number(row.user_id),
    username: row.username,
    email: row.email,
    verified: row.verified === 1,
    roles: JSON.parse(row.roles),
    secondFactor: row.second_factor === 1,
    lastSeenOn: row.last_seen_on,
  }
}

const SESSION_COLUMNS = [
  'sessions.id as id',
  'sessions.amr as amr',
  'sessions.authenticated_at as authenticated_at',
  'sessions.created_at as created_at',
  'sessions.expires_at as expires_at',
  'sessions.remembered as remembered',
  'sessions.address as address',
  'sessions.user_agent as user_agent',
] as const

type ById = { id: number } | { hash: string }
type Times = { now: string; createdAfter: string }

function live(db: Db<IdentityTables>, { now, createdAfter }: Times) {
  return db
    .selectFrom('sessions')
    .innerJoin('users', 'users.id', 'sessions.user_id')
    .select([...SESSION_COLUMNS, ...USER_COLUMNS])
    .where('sessions.state', '=', 'active')
    .where('sessions.expires_at', '>', now)
    .where('sessions.created_at', '>', createdAfter)
    .where('users.enabled', '=', 1)
}

const byHash = prepared((db: Db<IdentityTables>, { hash, ...times }: Times & { hash: string }) =>
  live(db, times).where('sessions.browser_hash', '=', hash),
)

const byId = prepared((db: Db<IdentityTables>, { id, ...times }: Times & { id: number }) =>
  live(db, times).where('sessions.id', '=', id).where('sessions.browser_hash', 'is not', null),
)

/** Only while it lasts, and while its user is enabled. */
export async function findBrowserSession(
  db: Db<IdentityTables>,
  choice: ById,
  window: SessionWindow,
): Promise<BrowserSession | undefined> {
  const times = timesOf(window)
  const [row] =
    'id' in choice
      ? await byId(db, { id: choice.id, ...times })
      : await byHash(db, { hash: choice.hash, ...times })
  if (!row) return undefined
  return {
    id: row.id,
    user: userOf(row),
    amr: row.amr ? row.amr.split(' ') : [],
    authenticatedAt: new Date(row.authenticated_at ?? row.created_at),
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    remembered: row.remembered === 1,
    address: row.address,
    userAgent: row.user_agent,
  }
}

function timesOf({ now, createdAfter }: SessionWindow): Times {
  return { now: now.toISOString(), createdAfter: createdAfter.toISOString() }
}

type HandOver = {
  id: number
  userId: number
  tokenHash: string
  /** In place of the refresh token's hash: no token has it. */
  endedHash: string
  browserHash: string
  remembered: boolean
  expiresAt: Date
  begunFrom: Date
}

/**
 * Turns a session that a login has just begun into the browser's. All conditions are part of the update, so
 * a session is handed over once, and only together with its current refresh token.
 */
export async function handOverSession(
  db: Db<IdentityTables>,
  handOver: HandOver,
  window: SessionWindow,
): Promise<boolean> {
  const { now, createdAfter } = timesOf(window)
  const { numUpdatedRows } = await db
    .updateTable('sessions')
    .set({
      token_hash: handOver.endedHash,
      previous_hash: handOver.tokenHash,
      browser_hash: handOver.browserHash,
      remembered: handOver.remembered ? 1 : 0,
      expires_at: handOver.expiresAt.toISOString(),
      last_used_at: now,
    })
    .where('id', '=', handOver.id)
    .where('user_id', '=', handOver.userId)
    .where('token_hash', '=', handOver.tokenHash)
    .where('state', '=', 'active')
    .where('client_id', 'is', null)
    .where('browser_hash', 'is', null)
    .where('created_at', '>=', handOver.begunFrom.toISOString())
    .where('created_at', '>', createdAfter)
    .where('expires_at', '>', now)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** A browser that signs in again as the same user stays signed in at its applications. */
export async function moveClientSessions(
  db: Db<IdentityTables>,
  { from, to }: { from: number; to: number },
): Promise<void> {
  await db
    .updateTable('sessions')
    .set({ parent_id: to, begun_in: to })
    .where('parent_id', '=', from)
    .where('state', '=', 'active')
    .execute()
}

type Slide = { id: number; now: string; long: string; short: string }

const slide = prepared((db: Db<IdentityTables>, { id, now, long, short }: Slide) =>
  db
    .updateTable('sessions')
    .set({
      last_used_at: now,
      expires_at: sql`case when remembered = 1 then ${long} else ${short} end`,
    })
    .where('id', '=', id)
    .where('browser_hash', 'is not', null)
    .where('state', '=', 'active')
    .where('expires_at', '>', now),
)

/** The browser was used: its session lasts longer. */
export async function extendBrowserSession(
  db: Db<IdentityTables>,
  id: number,
  { now, remembered, otherwise }: { now: Date; remembered: Date; otherwise: Date },
): Promise<void> {
  const ends = { long: remembered.toISOString(), short: otherwise.toISOString() }
  await slide(db, { id, now: now.toISOString(), ...ends })
}

type NewRow = Insertable<IdentityTables['sessions']>

const insert = prepared((db: Db<IdentityTables>, row: NewRow) =>
  db.insertInto('sessions').values(row).returning('id'),
)

type NewClientSession = {
  clientId: string
  scopes: string[]
  resources: string[]
  parentId: number | null
  tokenFamily: string
  tokenHash: string
  now: Date
  expiresAt: Date
}

/** The session of a client. Where the user sits is what the browser's session says, not where the client runs. */
export async function insertClientSession(
  db: Db<IdentityTables>,
  session: NewClientSession,
  browser: BrowserSession,
): Promise<number> {
  const [inserted] = await insert(db, {
    user_id: browser.user.id,
    token_family: session.tokenFamily,
    token_hash: session.tokenHash,
    generation: 1,
    state: 'active',
    created_at: session.now.toISOString(),
    last_used_at: session.now.toISOString(),
    expires_at: session.expiresAt.toISOString(),
    amr: browser.amr.join(' '),
    authenticated_at: browser.authenticatedAt.toISOString(),
    address: browser.address,
    user_agent: browser.userAgent,
    client_id: session.clientId,
    scope: session.scopes.join(' '),
    resources: JSON.stringify(session.resources),
    parent_id: session.parentId,
    begun_in: browser.id,
  })
  if (!inserted) throw new Error('The database returned no id for the new session')
  return inserted.id
}

type Rotation = {
  presented: string
  next: string
  clientId: string
  now: string
  createdAfter: string
  expiresAt: string
}

/** A session has a user, so none of its columns is missing. */
type KnownUser = Record<
  'username' | 'email' | 'verified' | 'roles' | 'second_factor' | 'last_seen_on',
  NotNull
>

/**
 * Every condition is part of one update, as for the sessions of users: exactly one of all concurrent requests with
 * the same token succeeds, and none once the session, the browser's session it belongs to, or the user has ended.
 */
const rotate = prepared((db: Db<IdentityTables>, rotation: Rotation) =>
  db
    .updateTable('sessions')
    .set({
      token_hash: rotation.next,
      previous_hash: rotation.presented,
      generation: sql`generation + 1`,
      last_used_at: rotation.now,
      expires_at: rotation.expiresAt,
    })
    .where('token_hash', '=', rotation.presented)
    .where('client_id', '=', rotation.clientId)
    .where('state', '=', 'active')
    .where('expires_at', '>', rotation.now)
    .where('created_at', '>', rotation.createdAfter)
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('users')
          .select('users.id')
          .whereRef('users.id', '=', 'sessions.user_id')
          .where('users.enabled', '=', 1),
      ),
    )
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb('parent_id', 'is', null),
        exists(
          selectFrom('sessions as browsers')
            .select('browsers.id')
            .whereRef('browsers.id', '=', 'sessions.parent_id')
            .where('browsers.state', '=', 'active')
            .where('browsers.expires_at', '>', rotation.now)
            .where('browsers.created_at', '>', rotation.createdAfter),
        ),
      ]),
    )
    .returning(({ selectFrom }) => {
      const user = selectFrom('users').whereRef('users.id', '=', 'sessions.user_id')
      const own = ['id', 'user_id', 'parent_id', 'scope', 'resources'] as const
      const proof = ['created_at', 'amr', 'authenticated_at'] as const
      return [
        ...own,
        ...proof,
        user.select('username').as('username'),
        user.select('email').as('email'),
        user.select('verified').as('verified'),
        user.select('roles').as('roles'),
        user.select('second_factor').as('second_factor'),
        user.select('last_seen_on').as('last_seen_on'),
      ]
    })
    .$narrowType<KnownUser>(),
)

type RotatedSession = {
  id: number
  parentId: number | null
  user: SessionUser
  scopes: string[]
  resources: string[]
  amr: string[]
  authenticatedAt: Date
}

/** Replaces the presented token with the next one. */
export async function rotateClientSession(
  db: Db<IdentityTables>,
  tokens: { presented: string; next: string; clientId: string; expiresAt: Date },
  window: SessionWindow,
): Promise<RotatedSession | undefined> {
  const { expiresAt, ...hashes } = tokens
  const [row] = await rotate(db, {
    ...hashes,
    ...timesOf(window),
    expiresAt: expiresAt.toISOString(),
  })
  if (!row) return undefined
  return {
    id: row.id,
    parentId: row.parent_id,
    user: userOf(row),
    scopes: (row.scope ?? '').split(' '),
    resources: JSON.parse(row.resources ?? '[]'),
    amr: row.amr ? row.amr.split(' ') : [],
    authenticatedAt: new Date(row.authenticated_at ?? row.created_at),
  }
}

export type KnownClientSession = {
  id: number
  userId: number
  clientId: string | null
  tokenHash: string
  previousHash: string | null
  lastUsedAt: Date
  scopes: string[]
  resources: string[]
}

export async function findClientSession(
  db: Db<IdentityTables>,
  tokenFamily: string,
): Promise<KnownClientSession | undefined> {
  const row = await db
    .selectFrom('sessions')
    .select(['id', 'user_id', 'client_id', 'token_hash', 'previous_hash', 'last_used_at'])
    .select(['scope', 'resources'])
    .where('token_family', '=', tokenFamily)
    .executeTakeFirst()
  if (!row) return undefined
  return {
    id: row.id,
    userId: Number(row.user_id),
    clientId: row.client_id,
    tokenHash: row.token_hash,
    previousHash: row.previous_hash,
    lastUsedAt: new Date(row.last_used_at),
    scopes: (row.scope ?? '').split(' '),
    resources: JSON.parse(row.resources ?? '[]'),
  }
}

/** The browser's session that a client's session was begun in. */
export async function findBeginning(
  db: Db<IdentityTables>,
  id: number,
): Promise<number | undefined> {
  if (!Number.isSafeInteger(id)) return undefined
  const row = await db
    .selectFrom('sessions')
    .select('begun_in')
    .where('id', '=', id)
    .where('client_id', 'is not', null)
    .executeTakeFirst()
  return row?.begun_in ?? undefined
}

type Crowd = { clientId: string; browserId: number; most: number }

/** Those beyond are removed with the next session: SQLite has no offset without a limit. */
const MAX_REMOVED = 1_000

const removeOldest = prepared((db: Db<IdentityTables>, { clientId, browserId, most }: Crowd) =>
  db
    .deleteFrom('sessions')
    .where('id', 'in', (sessions) =>
      sessions
        .selectFrom('sessions')
        .select('id')
        .where('parent_id', '=', browserId)
        .where('client_id', '=', clientId)
        .where('state', '=', 'active')
        .orderBy('last_used_at', 'desc')
        .orderBy('id', 'desc')
        .limit(MAX_REMOVED)
        .offset(most),
    ),
)

/** Keeps those that were used last. The others leave no row: a page that is reloaded often adds none. */
export async function deleteOldestClientSessions(
  db: Db<IdentityTables>,
  crowd: Crowd,
): Promise<void> {
  await removeOldest(db, crowd)
}

/** Ends every session of a client, or those of one user. */
export async function revokeClientSessions(
  db: Db<IdentityTables>,
  clientId: string,
  userId?: number,
): Promise<void> {
  const all = db
    .updateTable('sessions')
    .set({ state: 'revoked' })
    .where('client_id', '=', clientId)
    .where('state', '!=', 'revoked')
  await (userId === undefined ? all : all.where('user_id', '=', userId)).execute()
}
