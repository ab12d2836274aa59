import { randomBytes } from 'node:crypto'
import { type Db, inTransaction, lastly } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import type { Problem } from '@plinth/kit/problems'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, type SignAccessToken } from '@plinth/kit/tokens'
import type { Accounts, Admission } from '../accounts.ts'
import { type Origin, recordSecurityEvent } from '../audit/audit.ts'
import { attemptOf, countWithin } from '../audit/failure-limit.ts'
import type { AuditEvent } from '../audit-events.ts'
import { logOutSession, revokeSession } from '../database/ended-sessions.repository.ts'
import {
  type Authentication,
  insertSession,
  listLiveSessions,
  type SessionWindow,
  sessionWindow,
} from '../database/sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import { lockUser, markSeen, type User } from '../database/users.repository.ts'
import { sessionUnknown } from '../problems.ts'
import { lockCaller } from './caller.ts'

export type TokenPair = {
  accessToken: string
  refreshToken: string
  tokenType: 'Bearer'
  expiresInSeconds: number
  refreshTokenExpiresInSeconds: number
}

/** An authenticated user, and the conditions that must still hold when the session opens. */
export type Entry<A extends Admission> = {
  userId: number
  event: AuditEvent
  /** How the user authenticated: values of RFC 8176. */
  amr: string[]
  /** `locked` is the current user, if enabled; reads started before awaiting it share its round trip. */
  admit(db: Db<AccountTables>, locked: Promise<User | undefined>): Promise<A>
}

/** `admission` is what the entry decided; even an admitted user gets no tokens if they are disabled. */
type Attempted<A> = { admission: A; pair?: TokenPair }

/**
 * Every kind of login ends here, and the host's gate may require more. The user's row is locked while the
 * session is created, so a user who is being disabled, or whose password is being changed, either gets
 * no session or one that the change then revokes.
 */
export async function openSession<A extends Admission>(
  accounts: Accounts,
  entry: Entry<A>,
  origin: Origin,
): Promise<Attempted<A>> {
  const refreshToken = newRefreshToken()
  const sign = await accounts.accessTokens.prepare()
  type Outcome = { admission: A; refusal?: Problem; opened?: Admitted }
  const outcome = await inTransaction<AccountTables, Outcome>(accounts.db, async (db) => {
    const locked = lockUser(db, entry.userId).then((user) => (user?.enabled ? user : undefined))
    const [user, admission] = await Promise.all([locked, entry.admit(db, locked)])
    if (!user || !admission.isAdmitted) return { admission }
    const { amr } = entry
    const refusal = await refusalOfGate(accounts, db, { user, amr, origin })
    if (refusal) return { admission, refusal }
    const event = { event: entry.event, actor: user.username, subject: user.username }
    await recordSecurityEvent({ ...accounts, db }, event, origin)
    const { address, userAgent } = origin
    const use = { ...sessionTimes(accounts), address, userAgent }
    await markSeen(db, user, use.now)
    const hashes = refreshTokenHashes(refreshToken)
    const session = insertSession(db, { userId: user.id, amr, ...hashes, ...use })
    const proof = { amr, authenticatedAt: use.now, createdAt: use.now }
    const opened = session.then(({ id }) => ({ user, sessionId: id, refreshToken, ...proof }))
    return lastly(opened.then((admitted) => ({ admission, opened: admitted })))
  })
  const { admission, refusal, opened } = outcome
  // Thrown only after the commit, so that the gate's writes are kept.
  if (refusal) throw refusal
  return opened ? { admission, pair: await tokenPair(accounts, opened, sign) } : { admission }
}

type AtGate = { user: User; amr: string[]; origin: Origin }

async function refusalOfGate(
  { gate }: Accounts,
  db: Db<AccountTables>,
  { user, amr, origin }: AtGate,
): Promise<Problem | undefined> {
  if (!gate || !(user.secondFactor || gate.always)) return undefined
  return gate.ask(db, user, amr, origin)
}

export function sessionTimes(accounts: Accounts): SessionWindow & { expiresAt: Date } {
  const window = sessionWindow(accounts)
  const { refreshTokenLifetimeSeconds } = accounts.settings
  return { ...window, expiresAt: secondsAfter(window.now, refreshTokenLifetimeSeconds) }
}

type SignedIn = Pick<User, 'id' | 'username' | 'roles'>

type Admitted = Authentication & {
  user: SignedIn
  sessionId: number
  refreshToken: string
  createdAt: Date
}

export async function tokenPair(
  accounts: Accounts,
  { user, sessionId, refreshToken, createdAt, amr, authenticatedAt }: Admitted,
  sign: SignAccessToken,
): Promise<TokenPair> {
  const { accessTokens, settings } = accounts
  const { createdAfter } = sessionWindow(accounts)
  const secondsLeft = Math.floor((createdAt.getTime() - createdAfter.getTime()) / 1000)
  return {
    accessToken: await sign({
      userId: String(user.id),
      username: user.username,
      roles: user.roles,
      sessionId: String(sessionId),
      amr,
      authenticatedAt,
    }),
    refreshToken,
    tokenType: 'Bearer',
    expiresInSeconds: accessTokens.lifetimeSeconds,
    refreshTokenExpiresInSeconds: Math.min(settings.refreshTokenLifetimeSeconds, secondsLeft),
  }
}

/**
 * Ends the session of a refresh token if it is the caller's own and still active and, if `logoutEndsCaller`
 * is set, the session of the access token. The access token stays valid until it expires.
 */
export async function logOut(
  accounts: Accounts,
  caller: Caller,
  refreshToken: string | undefined,
  origin: Origin,
): Promise<void> {
  const named = refreshToken === undefined ? [] : [refreshTokenHashes(refreshToken)]
  const own = accounts.settings.logoutEndsCaller ? [{ id: Number(caller.sessionId) }] : []
  await inTransaction(accounts.db, async (db) => {
    await lockCaller(db, caller)
    const window = sessionWindow(accounts)
    let ended = false
    for (const session of [...own, ...named])
      if (await logOutSession(db, Number(caller.userId), session, window)) ended = true
    if (!ended && !(await isFirstUnchanged(accounts, db, origin))) return
    const result = ended ? 'SUCCESS' : 'UNCHANGED'
    const { username } = caller
    const event = { event: 'LOGOUT', actor: username, subject: username, result } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
  })
}

const UNCHANGED_SECONDS = 60

/** A logout that ends nothing can be repeated for ever, so it gets one row per minute and network. */
async function isFirstUnchanged(
  accounts: Accounts,
  db: Db<AccountTables>,
  origin: Origin,
): Promise<boolean> {
  const attempt = attemptOf('unchanged logout', '', origin)
  const { times } = await countWithin(accounts, attempt, UNCHANGED_SECONDS, db)
  return times === 1
}

export async function ownSessions(accounts: Accounts, caller: Caller) {
  const userId = Number(caller.userId)
  const sessions = await liveSessions(accounts, userId)
  return sessions.map((session) => ({
    ...session,
    current: String(session.id) === caller.sessionId,
  }))
}

/** The active sessions of a user, each with the client that acts in it. */
export async function liveSessions(accounts: Accounts, userId: number) {
  const { db, clientNames } = accounts
  const sessions = await listLiveSessions(db, userId, sessionWindow(accounts))
  const ids = [...new Set(sessions.flatMap(({ clientId }) => clientId ?? []))]
  const names = ids.length === 0 ? undefined : await clientNames?.(db, ids)
  return sessions.map(({ clientId, ...session }) => {
    const client = clientId === null ? null : { clientId, name: names?.get(clientId) ?? clientId }
    return { ...session, client }
  })
}

export async function endOwnSession(
  accounts: Accounts,
  caller: Caller,
  id: number,
  origin: Origin,
): Promise<void> {
  await inTransaction(accounts.db, async (db) => {
    await lockCaller(db, caller)
    const ended = await revokeSession(db, Number(caller.userId), id, sessionWindow(accounts))
    if (!ended) throw sessionUnknown()
    const { username, userId } = caller
    const who = { actor: username, subject: username, userId: Number(userId) }
    const event = { event: 'SESSION_REVOKED', ...who } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
  })
}

/**
 * A refresh token is 32 random bytes. The first 15 identify the token family and survive every
 * rotation, so that one row per session is enough to recognise a replay of any earlier token; the
 * other 17 are the secret and change each time. Only hashes of both are stored.
 */
const FAMILY_BYTES = 15
const SECRET_BYTES = 17
const FAMILY_LENGTH = 20

export function newRefreshToken(): string {
  return randomBytes(FAMILY_BYTES + SECRET_BYTES).toString('base64url')
}

export function nextRefreshToken(token: string): string {
  return familyPart(token) + randomBytes(SECRET_BYTES).toString('base64url')
}

export function refreshTokenHashes(token: string): { tokenFamily: string; tokenHash: string } {
  return { tokenFamily: hashOpaqueToken(familyPart(token)), tokenHash: hashOpaqueToken(token) }
}

function familyPart(token: string): string {
  return token.slice(0, FAMILY_LENGTH)
}
