import { inTransaction } from '@plinth/kit/database'
import type { Accounts } from '../accounts.ts'
import { type Origin, recordSecurityEvent } from '../audit/audit.ts'
import { revokeAnySession } from '../database/ended-sessions.repository.ts'
import {
  findSessionByFamily,
  isSessionActive,
  sessionWindow,
} from '../database/sessions.repository.ts'
import { findCaller, lockUser } from '../database/users.repository.ts'
import { refreshTokenHashes } from './sessions.ts'

/**
 * What another service may learn about an active access token; `undefined` for any other. Stricter than
 * the token itself: it is inactive once its session has logged out.
 */
export async function introspectAccessToken(accounts: Accounts, token: string) {
  const { db, verifier } = accounts
  const subject = await verifier.verify(token)
  const user = subject && (await findCaller(db, subject))
  if (!user) return undefined
  const window = sessionWindow(accounts)
  if (!(await isSessionActive(db, Number(subject.sessionId), window))) return undefined
  const { iss, aud, iat, exp, jti, client_id, amr, auth_time } = claimsOf(token)
  const { username, roles } = user
  const about = { sub: subject.userId, username, roles, sid: subject.sessionId }
  return { iss, aud, iat, exp, nbf: iat, jti, client_id, amr, auth_time, ...about }
}

/** The token must have been verified. */
function claimsOf(token: string): Record<string, unknown> {
  const [, payload = ''] = token.split('.')
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}

/** Revokes the session of an access or refresh token. An unknown token changes nothing. */
export async function revokeToken(
  accounts: Accounts,
  token: string,
  origin: Origin,
): Promise<void> {
  const session =
    (await sessionOfRefreshToken(accounts, token)) ?? (await sessionOf(accounts, token))
  if (session) await endSession(accounts, session, origin)
}

/** Ends a session and refuses its access tokens, at the wish of someone who has one. */
export async function endSession(
  accounts: Accounts,
  session: { id: number; userId: number },
  origin: Origin,
): Promise<void> {
  await inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, session.userId)
    if (!user || !(await revokeAnySession(db, user.id, session.id))) return
    const who = { actor: user.username, subject: user.username, userId: user.id }
    const event = { event: 'SESSION_REVOKED', ...who } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
  })
}

/** Only the newest refresh token of a session can revoke it. */
async function sessionOfRefreshToken({ db }: Accounts, token: string) {
  const { tokenFamily, tokenHash } = refreshTokenHashes(token)
  const session = await findSessionByFamily(db, tokenFamily)
  return session?.tokenHash === tokenHash ? session : undefined
}

async function sessionOf({ verifier }: Accounts, token: string) {
  const subject = await verifier.verify(token)
  return subject && { id: Number(subject.sessionId), userId: Number(subject.userId) }
}
