import { type Db, type Job, startJob } from '@plinth/kit/database'
import type { Logger } from '@plinth/kit/logging'
import type { Metrics } from '@plinth/kit/metrics'
import { type Clock, failPoint, secondsAfter } from '@plinth/kit/runtime'
import type { Introspection } from '@plinth/kit/tokens'
import {
  deleteUsernames,
  findCursor,
  type IssuerTables,
  insertUsername,
  listUsernames,
  saveCursor,
} from './erased-users.repository.ts'

export type ErasedUsers = {
  db: Db<IssuerTables>
  clock: Clock
  /** The issuer's name, as in its tokens. */
  issuer: string
  deletedUsers: Introspection['deletedUsers']
  /** Erases everything kept about a user. Must be idempotent. */
  eraseUser(userId: string): Promise<void>
  /** Removes a name from records that stay but hold it as text. Must be idempotent. */
  forgetName(username: string, userId: string, signal: AbortSignal): Promise<void>
}

const EVERY_SECONDS = 60
/** An access token of an erased user may stay valid for 15 minutes and create data here again. */
const LAST_TOKEN_SECONDS = 1_000

/** Erases the users that the issuer has erased, on one node at a time. */
export function startErasure(
  users: ErasedUsers,
  { log, metrics }: { log: Logger; metrics: Metrics },
): Job {
  const job = startJob({
    db: users.db,
    name: 'issuer-erasure',
    everySeconds: EVERY_SECONDS,
    log,
    metrics,
    run: (signal) => eraseDeletedUsers(users, signal),
  })
  // Logged for debugging only: when services start together, the issuer may be the last to listen.
  job
    .runNow()
    .catch((error) =>
      log.debug({ err: error }, 'could not list erased users; retrying in a minute'),
    )
  return job
}

/**
 * Works through the issuer's list of erased users. The cursor is saved once everyone before it is erased and
 * has no valid token any more: whatever a crash interrupts, or a late request adds, the next round repeats.
 * One user who cannot be erased does not keep the others from being erased.
 */
export async function eraseDeletedUsers(users: ErasedUsers, signal: AbortSignal): Promise<void> {
  const { db, clock, issuer, deletedUsers } = users
  const settled = secondsAfter(clock(), -LAST_TOKEN_SECONDS).toISOString()
  let cursor = await findCursor(db, issuer)
  const failures: Error[] = []
  let isComplete = true
  for (;;) {
    const { items, next } = await deletedUsers(cursor)
    for (const { id, deletedAt } of items) {
      if (signal.aborted) break
      const isSettled = deletedAt <= settled
      isComplete &&= isSettled
      await eraseOne(users, id, { isSettled, signal }).catch((cause) => {
        failures.push(new Error(`user ${id} of the issuer could not be erased`, { cause }))
        isComplete = false
      })
    }
    if (signal.aborted || items.length === 0 || next === null || next === cursor) break
    cursor = next
    if (isComplete) await saveCursor(db, issuer, next)
  }
  if (failures.length > 0) throw new AggregateError(failures, 'some users could not be erased')
}

async function eraseOne(
  { db, issuer, eraseUser, forgetName }: ErasedUsers,
  userId: string,
  { isSettled, signal }: { isSettled: boolean; signal: AbortSignal },
): Promise<void> {
  await eraseUser(userId)
  failPoint('erased-user:data')
  if (isSettled) {
    for (const username of await listUsernames(db, { issuer, userId }))
      await forgetName(username, userId, signal)
    if (!signal.aborted) await deleteUsernames(db, { issuer, userId })
  }
  failPoint('erased-user:name')
}

const MAX_REMEMBERED = 10_000

/**
 * Records which names belong to a user before anything is stored under such a name, because the list of
 * erased users has no names. One write for each user and node.
 */
export function rememberUsers(db: Db<IssuerTables>, issuer: string, { outages }: Logger) {
  const remembered = new Set<string>()
  return async ({ userId, username }: { userId: string; username: string }): Promise<void> => {
    const user = `${userId} ${username}`
    if (remembered.has(user)) return
    try {
      await insertUsername(db, { issuer, userId, username })
    } catch (err) {
      // On a full disk users can still read, and nothing is stored under the name. The next request tries again.
      const message = 'the name of a user of the issuer could not be recorded'
      outages.failed({ state: 'names of foreign users', message, err })
      return
    }
    if (remembered.size >= MAX_REMEMBERED) remembered.clear()
    remembered.add(user)
  }
}
