import { randomBytes } from 'node:crypto'
import { lockUser, type Origin, recordSecurityEvent, revokeAnySession } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { type BrowserSession, findBeginning } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { insertSignOut, takeSignOut } from '../database/sign-outs.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { AUTHORIZATION_SECONDS } from '../limits.ts'
import { type Browser, browserHash, sessionOf } from './browser-sessions.ts'
import { readHint } from './id-tokens.ts'
import { findKnownClient, isConsole } from './known-clients.ts'
import type { OpenId } from './openid.ts'
import { hasRepeated, type Parameters, parameter } from './parameters.ts'
import { signOutUnknown } from './problems.ts'
import { isRegistered } from './redirect-addresses.ts'
import { RequestRefused } from './refusals.ts'

/** Where the browser goes; `isOver` if it is signed out. */
export type SignedOut = { location: string; isOver: boolean }

type Hint = { userId: string; sessionId: string | undefined; clientId: string }

/** OpenID Connect RP-Initiated Logout. Throws `RequestRefused` where the browser must not be sent anywhere. */
export async function signOut(
  openid: OpenId,
  given: Parameters,
  browser: Browser,
  origin: Origin,
): Promise<SignedOut> {
  if (hasRepeated(given)) throw refused()
  const hint = await hintIn(openid, parameter(given, 'id_token_hint'))
  const client = await clientIn(openid, given, hint)
  const address = addressIn(given, client)
  const session = await sessionOf(openid, browser)
  if (!session) return { location: address ?? signOutPage(openid), isOver: true }
  if (hint && (await isOfThisBrowser(openid, hint, session))) {
    await inTransaction(openid.db, (db) => endBrowserSession(openid, db, session, origin))
    return { location: address ?? signOutPage(openid), isOver: true }
  }
  return { location: await askUser(openid, browser, address), isOver: false }
}

function refused(): RequestRefused {
  return new RequestRefused('sign-out')
}

function signOutPage({ publicUrl }: OpenId): string {
  return `${publicUrl}/account/sign-out`
}

/** An ID token of ours, expired or not. */
async function hintIn(openid: OpenId, token: string | undefined): Promise<Hint | undefined> {
  if (token === undefined) return undefined
  const claims = await readHint(openid, token)
  if (!claims || typeof claims.sub !== 'string' || typeof claims.aud !== 'string') throw refused()
  const sessionId = typeof claims.sid === 'string' ? claims.sid : undefined
  return { userId: claims.sub, sessionId, clientId: claims.aud }
}

async function clientIn(
  openid: OpenId,
  given: Parameters,
  hint: Hint | undefined,
): Promise<Client | undefined> {
  const named = parameter(given, 'client_id')
  if (named !== undefined && hint && named !== hint.clientId) throw refused()
  const clientId = named ?? hint?.clientId
  return clientId === undefined ? undefined : findKnownClient(openid, clientId)
}

/** Registered, and of a client that is known: anything else would send the browser wherever a link says. */
function addressIn(given: Parameters, client: Client | undefined): string | undefined {
  const address = parameter(given, 'post_logout_redirect_uri')
  if (address === undefined) return undefined
  if (!client || !accepts(client, address)) throw refused()
  const state = parameter(given, 'state')
  if (state === undefined) return address
  const separator = address.includes('?') ? '&' : '?'
  return `${address}${separator}${new URLSearchParams({ state })}`
}

function accepts(client: Client, address: string): boolean {
  const { postLogoutRedirectUris: registered } = client
  return isConsole(client) ? registered.includes(address) : isRegistered(registered, address)
}

/** Whether the client's session that the hint is about was begun in this browser. */
async function isOfThisBrowser(
  { db }: OpenId,
  { userId, sessionId }: Hint,
  session: BrowserSession,
): Promise<boolean> {
  if (userId !== String(session.user.id) || sessionId === undefined) return false
  return (await findBeginning(db, Number(sessionId))) === session.id
}

/** The applications that are used in the browser are signed out with it. */
async function endBrowserSession(
  { accounts }: OpenId,
  db: Db<IdentityTables>,
  { id, user }: BrowserSession,
  origin: Origin,
): Promise<void> {
  await lockUser(db, user.id)
  if (!(await revokeAnySession(db, user.id, id))) return
  const { username } = user
  const event = { event: 'LOGOUT', actor: username, subject: username } as const
  await recordSecurityEvent({ ...accounts, db }, event, origin)
}

/** A link must not sign anyone out: the user confirms it on the page. */
async function askUser(
  openid: OpenId,
  browser: Browser,
  address: string | undefined,
): Promise<string> {
  const id = randomBytes(16).toString('base64url')
  await insertSignOut(openid.db, {
    id,
    browserHash: browserHash(browser) ?? '',
    redirectTo: address ?? null,
    expiresAt: secondsAfter(openid.clock(), AUTHORIZATION_SECONDS).toISOString(),
  })
  return `${signOutPage(openid)}?request=${id}`
}

/** The user has confirmed it. */
export async function confirmSignOut(
  openid: OpenId,
  id: string,
  browser: Browser,
  origin: Origin,
): Promise<{ redirectTo: string | null }> {
  const session = await sessionOf(openid, browser)
  return inTransaction(openid.db, async (db) => {
    const hash = browserHash(browser)
    const now = openid.clock()
    const isId = /^[A-Za-z0-9_-]{22}$/.test(id)
    const taken =
      hash === undefined || !isId
        ? undefined
        : await takeSignOut(db, { id, browserHash: hash, now })
    if (!taken) throw signOutUnknown()
    if (session) await endBrowserSession(openid, db, session, origin)
    return taken
  })
}
