import {
  identifyCaller,
  lockUser,
  refreshTokenHashes,
  revokeAnySession,
  sessionWindow,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import {
  type Authorization,
  moveAuthorizations,
  updateAuthorization,
} from '../database/authorizations.repository.ts'
import {
  type BrowserSession,
  extendBrowserSession,
  findBrowserSession,
  handOverSession,
  moveClientSessions,
} from '../database/client-sessions.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { NOT_REMEMBERED_SECONDS, REMEMBERED_SECONDS } from '../limits.ts'
import type { OpenId } from './openid.ts'
import { signInRejected } from './problems.ts'

/** The browser that sent a request, known by its cookie. */
export type Browser = { cookie: string | undefined }

export function browserHash({ cookie }: Browser): string | undefined {
  return cookie === undefined ? undefined : hashOpaqueToken(cookie)
}

/** A cookie for the browser to keep, and for how long; without a time, until it is closed. */
export type NewCookie = { value: string; seconds?: number | undefined }

export async function sessionOf(
  { accounts, db }: Pick<OpenId, 'accounts' | 'db'>,
  browser: Browser,
): Promise<BrowserSession | undefined> {
  const hash = browserHash(browser)
  return hash === undefined ? undefined : findBrowserSession(db, { hash }, sessionWindow(accounts))
}

/** Not at every use: a minute more or less does not matter. */
const EXTENDED_AFTER_SECONDS = 60

/** Called when the browser was used: its session lasts longer, and so does a cookie that is kept. */
export async function extendSession(
  { db, clock }: Pick<OpenId, 'db' | 'clock'>,
  { id, remembered, expiresAt }: BrowserSession,
  { cookie }: Browser,
): Promise<NewCookie | undefined> {
  const now = clock()
  const ends = sessionEnds(now)
  const end = remembered ? ends.remembered : ends.otherwise
  if (expiresAt > secondsAfter(end, -EXTENDED_AFTER_SECONDS)) return undefined
  await extendBrowserSession(db, id, { now, ...ends })
  return remembered && cookie !== undefined ? cookieFor(cookie, remembered) : undefined
}

export function sessionEnds(now: Date) {
  return {
    remembered: secondsAfter(now, REMEMBERED_SECONDS),
    otherwise: secondsAfter(now, NOT_REMEMBERED_SECONDS),
  }
}

function cookieFor(value: string, remembered: boolean): NewCookie {
  return { value, seconds: remembered ? REMEMBERED_SECONDS : undefined }
}

export type Login = { accessToken: string | undefined; refreshToken: string; remember: boolean }

/**
 * Makes the session of a login that of the browser, under a new cookie, in the caller's transaction. An access
 * token alone is not enough: every service that a user calls sees access tokens.
 */
export async function handOver(
  openid: OpenId,
  db: Db<IdentityTables>,
  authorization: Authorization,
  { accessToken, refreshToken, remember }: Login,
): Promise<NewCookie> {
  const { accounts, clock } = openid
  const window = sessionWindow(accounts)
  const caller = accessToken && (await identifyCaller({ ...accounts, db }, accessToken))
  if (!caller) throw signInRejected()
  const [id, userId] = [Number(caller.sessionId), Number(caller.userId)]
  const hash = authorization.browserHash
  const signedIn = await findBrowserSession(db, { hash }, window)
  const users = await lockUsers(db, [userId, ...(signedIn ? [signedIn.user.id] : [])])
  const user = users.get(userId)
  const previous = await findBrowserSession(db, { hash }, window)
  const value = newOpaqueToken()
  const ends = sessionEnds(clock())
  const isOurs = await handOverSession(
    db,
    {
      id,
      userId,
      tokenHash: refreshTokenHashes(refreshToken).tokenHash,
      endedHash: hashOpaqueToken(newOpaqueToken()),
      browserHash: hashOpaqueToken(value),
      remembered: remember,
      expiresAt: remember ? ends.remembered : ends.otherwise,
      begunFrom: new Date(authorization.createdAt),
    },
    window,
  )
  if (!user?.enabled || !isOurs) throw signInRejected()
  await replaceSession(db, previous, { id, userId })
  await moveAuthorizations(db, { from: authorization.browserHash, to: hashOpaqueToken(value) })
  const began = { session_id: id, switching: 0, consented: 0 }
  await updateAuthorization(db, authorization.id, began)
  return cookieFor(value, remember)
}

/** Codes are exchanged under the lock of their user. Always in the same order, so that two tabs cannot deadlock. */
async function lockUsers(db: Db<IdentityTables>, ids: number[]) {
  const users = new Map<number, User | undefined>()
  for (const id of [...new Set(ids)].sort((a, b) => a - b)) users.set(id, await lockUser(db, id))
  return users
}

/** The browser is signed in once: with another account, the applications of the previous one are signed out. */
async function replaceSession(
  db: Db<IdentityTables>,
  previous: BrowserSession | undefined,
  next: { id: number; userId: number },
): Promise<void> {
  if (!previous) return
  if (previous.user.id === next.userId)
    await moveClientSessions(db, { from: previous.id, to: next.id })
  await revokeAnySession(db, previous.user.id, previous.id)
}
