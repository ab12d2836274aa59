import { inTransaction } from '@plinth/kit/database'
import type { Problem } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { type Origin, recordSecurityEvent } from '../audit/audit.ts'
import { recordRefusal, throttled } from '../audit/failure-limit.ts'
import { revokeSession } from '../database/ended-sessions.repository.ts'
import {
  findSessionByFamily,
  type KnownSession,
  rotateSession,
  sessionWindow,
} from '../database/sessions.repository.ts'
import { lockUser, markSeen, type User } from '../database/users.repository.ts'
import { refreshTokenRejected } from '../problems.ts'
import {
  nextRefreshToken,
  refreshTokenHashes,
  sessionTimes,
  type TokenPair,
  tokenPair,
} from './sessions.ts'

/** Exchanges a refresh token for a new pair; the presented token is used up, whatever happens next. */
export async function refreshSession(
  accounts: Accounts,
  refreshToken: string,
  origin: Origin,
): Promise<TokenPair> {
  const next = nextRefreshToken(refreshToken)
  const { tokenHash } = refreshTokenHashes(next)
  const { address, userAgent } = origin
  const use = { tokenHash, ...sessionTimes(accounts), address, userAgent }
  const sign = await accounts.accessTokens.prepare()
  const rotated = await inTransaction(accounts.db, async (db) => {
    const session = await rotateSession(db, refreshTokenHashes(refreshToken).tokenHash, use)
    if (!session) return undefined
    const { id, user, ...times } = session
    const event = { event: 'REFRESH', actor: user.username, subject: user.username } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
    return { user, sessionId: id, refreshToken: next, ...times }
  })
  if (!rotated) throw await rejectRefresh(accounts, refreshToken, origin)
  // After the commit, to avoid a deadlock: a change to the user locks its row first, then its sessions. The
  // old token is used up, so a failure here must not lose the new one; the next refresh marks the day.
  await markSeen(accounts.db, rotated.user, use.now).catch((err) => {
    const message = 'when users were last seen could not be recorded'
    accounts.log.outages.failed({ state: 'last seen', message, err })
  })
  return tokenPair(accounts, rotated, sign)
}

/**
 * A token of a known session is always 401, as in the specification's table: one of any number of
 * concurrent refreshes succeeds and all others get the same answer. Only made-up tokens are throttled, and
 * they are counted only after the rotation was tried, so a valid token always works.
 */
async function rejectRefresh(
  accounts: Accounts,
  refreshToken: string,
  origin: Origin,
): Promise<Problem> {
  const { tokenFamily, tokenHash } = refreshTokenHashes(refreshToken)
  return inTransaction(accounts.db, async (db) => {
    const inside = { ...accounts, db }
    const session = await findSessionByFamily(db, tokenFamily)
    if (session) {
      await refuseKnown(inside, session, tokenHash, origin)
      return refreshTokenRejected()
    }
    const failed = await recordRefusal(inside, { event: 'REFRESH' }, origin)
    const isOver = failed.times > accounts.settings.failures.limit
    return isOver ? throttled(accounts, failed) : refreshTokenRejected()
  })
}

async function refuseKnown(
  accounts: Accounts,
  session: KnownSession,
  tokenHash: string,
  origin: Origin,
): Promise<void> {
  const replayed = session.tokenHash !== tokenHash
  const user = await lockUser(accounts.db, session.userId)
  const event = replayed ? 'REFRESH_REPLAYED' : 'REFRESH'
  await recordRefusal(accounts, { event, subject: user?.username }, origin)
  const { refreshReuse } = accounts.settings
  if (!user || !replayed || refreshReuse !== 'revoke') return
  if (!isRetry(accounts, session, tokenHash)) await endReplayed(accounts, user, session, origin)
}

async function endReplayed(
  accounts: Accounts,
  { id: userId, username }: User,
  { id }: KnownSession,
  origin: Origin,
): Promise<void> {
  if (!(await revokeSession(accounts.db, userId, id, sessionWindow(accounts)))) return
  // The user is the actor, as for any token that ends its own session: the notice of the replay is enough.
  const event = { event: 'SESSION_REVOKED', actor: username, subject: username, userId } as const
  await recordSecurityEvent(accounts, event, origin)
}

const GRACE_SECONDS = 10

/**
 * Whether the token is the one just rotated, sent again after a lost reply or by a second tab. That is
 * still 401, but no sign of theft. The nodes' clocks differ, so the rotation may seem to be in the future.
 */
function isRetry({ clock }: Accounts, session: KnownSession, tokenHash: string): boolean {
  const ageMs = Math.abs(clock().getTime() - session.lastUsedAt.getTime())
  return session.previousHash === tokenHash && ageMs < GRACE_SECONDS * 1000
}
