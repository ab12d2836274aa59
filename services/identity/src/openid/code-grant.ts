import { createHash } from 'node:crypto'
import {
  lockUser,
  newRefreshToken,
  type Origin,
  refreshTokenHashes,
  revokeAnySession,
  sessionTimes,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, isSameSecret } from '@plinth/kit/tokens'
import { recordIdentityEvent } from '../audit.ts'
import {
  type AuthorizationCode,
  findCode,
  spendCode,
  updateGivenSession,
} from '../database/authorizations.repository.ts'
import {
  type BrowserSession,
  deleteOldestClientSessions,
  findBrowserSession,
  insertClientSession,
} from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { findGrant, markGrantUsed } from '../database/grants.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { MAX_SESSIONS_PER_BROWSER } from '../limits.ts'
import { requestInvalid } from '../oauth/problems.ts'
import { isStillKnown } from './known-clients.ts'
import { AUTHORIZATION_CODE, type OpenId, REFRESH_TOKEN } from './openid.ts'
import { type Parameters, parameter, words } from './parameters.ts'
import { grantInvalid, targetInvalid } from './problems.ts'
import { isCovered } from './steps.ts'
import {
  type Given,
  prepareSigners,
  requireGrantType,
  type TokenReply,
  type TokenRequest,
  tokenReply,
} from './token.ts'

const VERIFIER = /^[A-Za-z0-9._~-]{43,128}$/

/** Exchanges a code for tokens. A second use is refused, and ends what the first gave. */
export async function exchangeCode(openid: OpenId, request: TokenRequest): Promise<TokenReply> {
  const client = await requireGrantType(openid, request, AUTHORIZATION_CODE)
  const { form, origin } = request
  const code = parameter(form, 'code')
  if (code === undefined) throw requestInvalid({ detail: 'The parameter code is missing.' })
  const codeHash = hashOpaqueToken(code)
  const signers = await prepareSigners(openid, client)
  const given = await inTransaction(openid.db, (db) =>
    redeem(openid, db, { client, form, codeHash, origin }),
  )
  // Thrown only after the commit, so that what a second use has ended stays ended.
  if (!given) throw grantInvalid()
  return tokenReply(openid, signers, given)
}

type Redemption = { client: Client; form: Parameters; codeHash: string; origin: Origin }

async function redeem(
  openid: OpenId,
  db: Db<IdentityTables>,
  { client, form, codeHash, origin }: Redemption,
): Promise<Given | undefined> {
  const code = await findCode(db, codeHash)
  if (!code) return undefined
  // Until the transaction ends, no session of this user can end.
  const user = await lockUser(db, Number(code.userId))
  if (code.usedAt !== null) return endReplayed(openid, db, codeHash, origin)
  if (!matches(code, client, form)) return undefined
  const resources = narrowed(JSON.parse(code.resources), form)
  const window = sessionTimes(openid.accounts)
  const browser = await findBrowserSession(db, { id: Number(code.sessionId) }, window)
  if (!user?.enabled || !browser || !(await isStillAllowed(db, client, code))) return undefined
  if (!(await spendCode(db, codeHash, window.now))) return endReplayed(openid, db, codeHash, origin)
  const opened = await openClientSession(openid, db, { client, code, browser })
  await updateGivenSession(db, codeHash, opened.sessionId)
  await deleteOldestClientSessions(db, {
    clientId: client.clientId,
    browserId: browser.id,
    most: MAX_SESSIONS_PER_BROWSER,
  })
  await markGrantUsed(db, { userId: browser.user.id, clientId: client.clientId }, window.now)
  const { amr, authenticatedAt } = browser
  const { nonce } = code
  const user_ = browser.user
  return { client, user: user_, ...opened, resources, amr, authenticatedAt, nonce }
}

/** Bound to the client, the address and the verifier; the other way round, a verifier needs a challenge. */
function matches(code: AuthorizationCode, client: Client, form: Parameters): boolean {
  if (code.clientId !== client.clientId) return false
  if (code.redirectUri !== parameter(form, 'redirect_uri')) return false
  const verifier = parameter(form, 'code_verifier')
  if (code.codeChallenge === null) return verifier === undefined
  if (verifier === undefined || !VERIFIER.test(verifier)) return false
  const challenge = createHash('sha256').update(verifier).digest('base64url')
  return isSameSecret(challenge, code.codeChallenge)
}

/** RFC 8707: a token request may name fewer resources than were granted, never others. */
export function narrowed(granted: string[], form: Parameters): string[] {
  const asked = [...new Set(form.getAll('resource'))].filter((one) => one !== '')
  if (!asked.every((one) => granted.includes(one))) throw targetInvalid()
  return asked.length > 0 ? asked : granted
}

/** The user may have taken it back, and an administrator may have disabled the client, since the code was issued. */
export async function isStillAllowed(
  db: Db<IdentityTables>,
  client: Client,
  code: Pick<AuthorizationCode, 'userId' | 'scope' | 'resources'>,
): Promise<boolean> {
  if (!(await isStillKnown(db, client))) return false
  if (client.firstParty) return true
  const { clientId } = client
  const grant = await findGrant(db, { userId: Number(code.userId), clientId })
  return isCovered({ scopes: words(code.scope), resources: JSON.parse(code.resources) }, grant)
}

type Opening = {
  client: Client
  code: Pick<AuthorizationCode, 'scope' | 'resources'>
  browser: BrowserSession
}

/** With `offline_access` it outlasts the browser's session; without, it ends with it. */
export async function openClientSession(
  { accounts }: OpenId,
  db: Db<IdentityTables>,
  { client, code, browser }: Opening,
) {
  const { now, expiresAt } = sessionTimes(accounts)
  const token = newRefreshToken()
  const isRefreshed = client.grantTypes.includes(REFRESH_TOKEN)
  const scopes = words(code.scope)
  const { lifetimeSeconds } = accounts.accessTokens
  const sessionId = await insertClientSession(
    db,
    {
      clientId: client.clientId,
      scopes,
      resources: JSON.parse(code.resources),
      parentId: scopes.includes('offline_access') ? null : browser.id,
      ...refreshTokenHashes(token),
      now,
      expiresAt: isRefreshed ? expiresAt : secondsAfter(now, lifetimeSeconds),
    },
    browser,
  )
  return { sessionId, scopes, refreshToken: isRefreshed ? token : undefined }
}

/** Somebody else may have the code, so the tokens that it gave end. */
async function endReplayed(
  { accounts }: OpenId,
  db: Db<IdentityTables>,
  codeHash: string,
  origin: Origin,
): Promise<undefined> {
  const code = await findCode(db, codeHash)
  const user = code && (await lockUser(db, Number(code.userId)))
  if (!code || !user || code.givenSessionId === null) return undefined
  if (!(await revokeAnySession(db, user.id, Number(code.givenSessionId)))) return undefined
  const { username: subject, id: userId } = user
  const event = { event: 'CODE_REPLAYED', subject, userId, result: 'REFUSED' } as const
  await recordIdentityEvent({ ...accounts, db }, event, origin)
  return undefined
}
