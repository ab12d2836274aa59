import { inTransaction, type Problem } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { recordEvent } from './audit.ts'
import { attemptOf, countFailure, forgetFailures, slowedDown } from './failed-attempts.ts'
import type { Origin } from './origin.ts'
import { refreshTokenRejected } from './problems.ts'
import { nextRefreshToken, refreshTokenHashes } from './refresh-token.ts'
import { findSessionByFamily, revokeSessions, rotateSession } from './sessions.repository.ts'
import { sessionTimes, type TokenPair, tokenPair } from './sessions.ts'
import { findUserById } from './users.repository.ts'

/** Trades a refresh token for a new pair; the presented one is spent, whatever happens after. */
export async function refreshSession(
  accounts: Accounts,
  refreshToken: string,
  origin: Origin,
): Promise<TokenPair> {
  const next = nextRefreshToken(refreshToken)
  const { tokenHash } = refreshTokenHashes(next)
  const { address, userAgent } = origin
  const use = { tokenHash, ...sessionTimes(accounts), address, userAgent }
  const rotated = await inTransaction(accounts.db, async (db) => {
    const session = await rotateSession(db, refreshTokenHashes(refreshToken).tokenHash, use)
    const user = session && (await findUserById(db, session.userId))
    if (!session || !user) return undefined
    const event = { event: 'REFRESH', actor: user.username, subject: user.username }
    await recordEvent({ ...accounts, db }, event, origin)
    await forgetFailures(db, attemptOf('refresh', user.username, origin))
    return { user, sessionId: session.id }
  })
  if (!rotated) throw await rejectRefresh(accounts, refreshToken, origin)
  return tokenPair(accounts, rotated, next)
}

/**
 * Counts after the fact and never before: a good token is always honoured, however many bad ones
 * came from the same address. Made-up tokens that are slowed leave no rows: nobody fills the disk.
 */
async function rejectRefresh(
  accounts: Accounts,
  refreshToken: string,
  origin: Origin,
): Promise<Problem> {
  const { tokenFamily, tokenHash } = refreshTokenHashes(refreshToken)
  return inTransaction(accounts.db, async (db) => {
    const session = await findSessionByFamily(db, tokenFamily)
    const user = session && (await findUserById(db, session.userId))
    const replayed = session !== undefined && session.tokenHash !== tokenHash
    if (replayed && accounts.settings.refreshReuse === 'revoke') {
      await revokeSessions(db, session.userId, { id: session.id }, accounts.clock())
    }
    const attempt = attemptOf('refresh', user?.username ?? '', origin)
    const failed = await countFailure(accounts, attempt, db)
    const slowed = failed.failures > accounts.settings.failures.limit
    const event = replayed ? 'REFRESH_REPLAYED' : 'REFRESH'
    const refused = { event, subject: user?.username, result: 'REFUSED' } as const
    if (replayed || !slowed) await recordEvent({ ...accounts, db }, refused, origin)
    return slowed ? slowedDown(accounts, failed) : refreshTokenRejected()
  })
}
