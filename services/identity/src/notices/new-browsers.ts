import { findUserById } from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import {
  clientNetwork,
  DAY_SECONDS,
  HOUR_SECONDS,
  isAhead,
  MAX_CLOCK_SKEW_SECONDS,
  secondsAfter,
} from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import {
  deleteOldBrowsers,
  listBrowsers,
  listSignIns,
  lockWatchedSignIn,
  saveBrowser,
  updateWatchedSignIn,
} from '../database/browsers.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { BROWSERS } from '../mail/browsers.ts'
import { canSend, type Outbox } from '../mail/outbox.ts'
import { queueNotice } from './notices.ts'

const RETENTION_SECONDS = 180 * DAY_SECONDS
const BATCH_SIZE = 200
/** Transactions do not commit in the order of their ids: one with a lower id may still be in flight. */
const SETTLED_SECONDS = 5
/** Mail may have been off for a while: browsers of older sign-ins are remembered, but not reported. */
const REPORTED_SECONDS = HOUR_SECONDS

type Watch = { db: Db<IdentityTables>; outbox: Outbox; publicUrl: string }

/**
 * Mails users who signed in with a browser, or from a network, that they have not used before. A job does this,
 * so that logins do not wait for it.
 */
export async function reportNewBrowsers(watch: Watch, signal: AbortSignal): Promise<void> {
  const { db, outbox } = watch
  if (!canSend(outbox)) return
  const now = outbox.clock()
  let found: number
  do {
    found = await inTransaction(db, (inside) => reportPart({ ...watch, db: inside }, now))
  } while (found === BATCH_SIZE && !signal.aborted)
  await deleteOldBrowsers(db, secondsAfter(now, -RETENTION_SECONDS), signal)
}

async function reportPart(watch: Watch, now: Date): Promise<number> {
  const { db } = watch
  const after = await lockWatchedSignIn(db)
  const until = secondsAfter(now, -SETTLED_SECONDS)
  // One far ahead was made before the clock was set back: waiting for it would hold up all that follow.
  const tolerated = SETTLED_SECONDS + MAX_CLOCK_SKEW_SECONDS
  const found = await listSignIns(db, { after, most: BATCH_SIZE })
  const recent = found.findIndex(({ createdAt }) => isAhead(new Date(createdAt), tolerated, until))
  const signIns = recent === -1 ? found : found.slice(0, recent)
  for (const signIn of signIns) await checkSignIn(watch, signIn, now)
  const last = signIns.at(-1)
  if (last) await updateWatchedSignIn(db, last.id)
  return signIns.length
}

type SignIn = Awaited<ReturnType<typeof listSignIns>>[number]

/** A user's first browser is the one used to register, so it is not reported. */
async function checkSignIn(
  { db, outbox, publicUrl }: Watch,
  { userId, address, userAgent, createdAt }: SignIn,
  now: Date,
): Promise<void> {
  const hash = browserHash(userId, { address, userAgent })
  const known = await listBrowsers(db, userId)
  const seenAt = known.get(hash)
  if (seenAt === undefined || seenAt < secondsAfter(now, -DAY_SECONDS).toISOString())
    await saveBrowser(db, { hash, userId, seenAt: createdAt })
  const isOld = createdAt < secondsAfter(now, -REPORTED_SECONDS).toISOString()
  if (seenAt !== undefined || known.size === 0 || isOld) return
  const user = await findUserById(db, userId)
  const origin = { address, userAgent, requestId: null }
  if (user) await queueNotice(outbox, db, { mail: 'new-browser', user, publicUrl }, origin)
}

function browserHash(userId: number, from: { address: string; userAgent: string | null }) {
  const agent = from.userAgent ?? ''
  const family = Object.keys(BROWSERS).find((name) => agent.includes(name)) ?? agent.split('/')[0]
  // A household's address changes, so an IPv4 /24 counts as one network.
  const network = clientNetwork(from.address).replace(/\.\d+$/, '')
  return hashOpaqueToken(['browser', userId, family, network].join('\n'))
}
