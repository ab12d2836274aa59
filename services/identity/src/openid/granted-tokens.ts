import {
  endSession,
  findCaller,
  isSessionActive,
  type Origin,
  sessionWindow,
  type User,
} from '@plinth/accounts'
import type { GrantedToken } from '@plinth/kit/tokens'
import { claimsOf } from './id-tokens.ts'
import type { OpenId } from './openid.ts'
import { openIdNotGranted, tokenInvalid } from './problems.ts'

/** OpenID Connect Core, section 5.3. A token for a resource says nothing here. */
export async function userInfo(openid: OpenId, token: string) {
  const { granted, audience, issuer, accounts } = openid
  const found = await granted.verify(token)
  if (!found?.audiences.some((one) => one === issuer || one === audience)) throw tokenInvalid()
  const user = await findCaller(accounts.db, found)
  if (!user) throw tokenInvalid()
  if (!found.scopes.includes('openid')) throw openIdNotGranted()
  return { sub: found.userId, ...claimsOf(user, found.scopes) }
}

/** RFC 7662, for the access tokens of clients; undefined for any other token. */
export async function introspectGranted(openid: OpenId, token: string) {
  const found = await openid.granted.verify(token)
  if (!found || found.scopes.length === 0) return undefined
  const user = await activeUser(openid, found)
  if (!user) return { active: false }
  const { scopes, claims } = found
  const { iss, aud, iat, exp, jti, client_id, amr, auth_time, sid, sub } = claims
  const shown = {
    ...('username' in claims && { username: user.username }),
    ...('roles' in claims && { roles: user.roles }),
  }
  const about = { iss, aud, iat, nbf: iat, exp, jti, client_id, amr, auth_time, sub, sid }
  return { active: true, token_type: 'Bearer', scope: scopes.join(' '), ...about, ...shown }
}

async function activeUser({ accounts }: OpenId, found: GrantedToken): Promise<User | undefined> {
  const user = await findCaller(accounts.db, found)
  const isActive =
    user && (await isSessionActive(accounts.db, Number(found.sessionId), sessionWindow(accounts)))
  return isActive ? user : undefined
}

/** RFC 7009: ends the session of a client's access token. Returns whether it is one. */
export async function revokeGranted(
  openid: OpenId,
  token: string,
  origin: Origin,
): Promise<boolean> {
  const found = await openid.granted.verify(token)
  if (!found || found.scopes.length === 0) return false
  const session = { id: Number(found.sessionId), userId: Number(found.userId) }
  await endSession(openid.accounts, session, origin)
  return true
}
