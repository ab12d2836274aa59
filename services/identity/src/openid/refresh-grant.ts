import {
  lockUser,
  nextRefreshToken,
  type Origin,
  recordSecurityEvent,
  refreshTokenHashes,
  revokeAnySession,
  sessionTimes,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { recordIdentityEvent } from '../audit.ts'
import {
  extendBrowserSession,
  findClientSession,
  type KnownClientSession,
  rotateClientSession,
} from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { requestInvalid } from '../oauth/problems.ts'
import { sessionEnds } from './browser-sessions.ts'
import { narrowed } from './code-grant.ts'
import { type OpenId, REFRESH_TOKEN } from './openid.ts'
import { type Parameters, parameter, words } from './parameters.ts'
import { grantInvalid, scopeNotGranted, targetInvalid } from './problems.ts'
import { mayAskFor } from './resources.ts'
import {
  type Given,
  prepareSigners,
  requireGrantType,
  type TokenReply,
  type TokenRequest,
  tokenReply,
} from './token.ts'

const GRACE_SECONDS = 10

/** Exchanges a refresh token for a new one, with an access token that may have less than was granted. */
export async function refreshTokens(openid: OpenId, request: TokenRequest): Promise<TokenReply> {
  const client = await requireGrantType(openid, request, REFRESH_TOKEN)
  const { form, origin } = request
  const token = parameter(form, 'refresh_token')
  if (token === undefined)
    throw requestInvalid({ detail: 'The parameter refresh_token is missing.' })
  const signers = await prepareSigners(openid, client)
  const given = await inTransaction(openid.db, (db) =>
    rotate(openid, db, { client, form, token, origin }),
  )
  if (given) return tokenReply(openid, signers, given)
  await inTransaction(openid.db, (db) => refuse(openid, db, { client, form, token, origin }))
  throw grantInvalid()
}

type Refresh = { client: Client; form: Parameters; token: string; origin: Origin }

/** A request for more than was granted is refused, which takes the rotation back: the token can be used again. */
async function rotate(
  openid: OpenId,
  db: Db<IdentityTables>,
  { client, form, token, origin }: Refresh,
): Promise<Given | undefined> {
  const { accounts } = openid
  const next = nextRefreshToken(token)
  const window = sessionTimes(accounts)
  const hashes = {
    presented: refreshTokenHashes(token).tokenHash,
    next: refreshTokenHashes(next).tokenHash,
  }
  const change = { ...hashes, clientId: client.clientId, expiresAt: window.expiresAt }
  const session = await rotateClientSession(db, change, window)
  if (!session) return undefined
  const { user, amr, authenticatedAt } = session
  const event = { event: 'REFRESH', actor: user.username, subject: user.username } as const
  await recordSecurityEvent({ ...accounts, db }, event, origin)
  // The application is used in that browser.
  if (session.parentId !== null)
    await extendBrowserSession(db, session.parentId, {
      now: window.now,
      ...sessionEnds(window.now),
    })
  const asked = words(parameter(form, 'scope'))
  if (!asked.every((name) => session.scopes.includes(name))) throw scopeNotGranted()
  const allowed = session.scopes.filter((name) => client.scopes.includes(name))
  const scopes = asked.length === 0 ? allowed : allowed.filter((name) => asked.includes(name))
  if (scopes.length === 0) throw scopeNotGranted()
  const resources = narrowed(session.resources, form)
  if (!mayAskFor(openid, client, resources)) throw targetInvalid()
  const proof = { amr, authenticatedAt, nonce: null }
  const given = { scopes, resources, refreshToken: next }
  return { client, user, sessionId: session.id, ...proof, ...given }
}

/** A spent token may be in the hands of a thief: the session ends. A client that repeats itself at once keeps it. */
async function refuse(
  { accounts, clock }: OpenId,
  db: Db<IdentityTables>,
  { client, token, origin }: Refresh,
): Promise<void> {
  const { tokenFamily, tokenHash } = refreshTokenHashes(token)
  const session = await findClientSession(db, tokenFamily)
  if (session?.clientId !== client.clientId || session.tokenHash === tokenHash) return
  if (isRepeated(session, tokenHash, clock())) return
  const user = await lockUser(db, session.userId)
  if (!user || !(await revokeAnySession(db, user.id, session.id))) return
  const { username: subject } = user
  const event = { event: 'REFRESH_REPLAYED', subject, result: 'REFUSED' } as const
  await recordIdentityEvent({ ...accounts, db }, event, origin)
}

/** Only the token that was spent last. The nodes' clocks differ, so the rotation may seem to be in the future. */
function isRepeated(session: KnownClientSession, tokenHash: string, now: Date): boolean {
  const ageMs = Math.abs(now.getTime() - session.lastUsedAt.getTime())
  return session.previousHash === tokenHash && ageMs < GRACE_SECONDS * 1000
}
