import { createHmac } from 'node:crypto'
import { type Db, inTransaction } from '@plinth/kit/database'
import { DAY_SECONDS, failPoint, MAX_CLOCK_SKEW_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Accounts } from '../accounts.ts'
import { type By, type Origin, recordSecurityEvent } from '../audit/audit.ts'
import {
  clearDeletion,
  deleteUser,
  findHeldName,
  insertTombstone,
  listNamesInAudit,
  listRecentTombstones,
  renameInAudit,
  saveDeletion,
  shortenAuditToRename,
} from '../database/deletions.repository.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import {
  type Deletion,
  findUserById,
  lockEnabledAdmins,
  lockUser,
  type User,
} from '../database/users.repository.ts'
import { emailTaken, lastAdministrator, usernameTaken, userUnknown } from '../problems.ts'

const HELD_DAYS = 30

type DeletionRequest = {
  by: Deletion['by']
  graceSeconds: number
  /** Runs in the transaction, with the user's row locked; throws if the deletion is no longer allowed. */
  admit?(db: Db<AccountTables>): Promise<void>
  onScheduled?(db: Db<AccountTables>, user: User, deletesAt: string): Promise<void>
}

/**
 * Schedules the erasure of an account: every session ends at once, and the account cannot be used unless the
 * deletion is cancelled. A second request changes nothing, except that the user can no longer cancel once an
 * administrator has asked for it. Returns when the account will be erased.
 */
export async function scheduleDeletion(
  accounts: Accounts,
  id: number,
  { by: requestedBy, graceSeconds, admit, onScheduled }: DeletionRequest,
  { actor, origin, reason }: By,
): Promise<string> {
  return inTransaction(accounts.db, async (db) => {
    const admins = await lockEnabledAdmins(db)
    const user = await lockUser(db, id)
    if (!user) throw userUnknown()
    await admit?.(db)
    if (admins.length === 1 && admins[0] === id) throw lastAdministrator()
    const { deletion } = user
    const at = deletion?.at ?? secondsAfter(accounts.clock(), graceSeconds).toISOString()
    if (deletion?.by === 'administrator' || deletion?.by === requestedBy) return at
    const wasEnabled = deletion?.wasEnabled ?? user.enabled
    await saveDeletion(db, id, { at, by: requestedBy, wasEnabled })
    await revokeSessions(db, id)
    const event = {
      event: 'DELETION_REQUESTED',
      actor,
      reason,
      subject: user.username,
      userId: id,
    } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
    await onScheduled?.(db, user, at)
    return at
  })
}

type Cancelling = {
  /** Whether the deletion may be cancelled; runs in the transaction, with the user's row locked. */
  admit(db: Db<AccountTables>, deletion: Deletion): Promise<boolean>
}

/** Restores the account as it was, without its sessions. Returns whether a deletion was cancelled. */
export async function cancelDeletion(
  accounts: Accounts,
  id: number,
  { admit }: Cancelling,
  { actor, origin, reason }: By,
): Promise<boolean> {
  return inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, id)
    if (!user?.deletion || !(await admit(db, user.deletion))) return false
    await clearDeletion(db, id, user.deletion)
    const event = {
      event: 'DELETION_CANCELLED',
      actor,
      reason,
      subject: user.username,
      userId: id,
    } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
    return true
  })
}

const ORIGIN: Origin = { address: 'erasure', userAgent: null, requestId: null }

type Erasing = {
  /** Erases what the host keeps of the user, in the same transaction. */
  eraseElsewhere(db: Db<AccountTables>, user: User): Promise<void>
}

/**
 * Erases an account whose deletion is due, in one transaction; most of a long audit is renamed before it. What
 * remains is its id and, for 30 days, keyed hashes of its username and address, which reserve them. Returns
 * whether it was erased.
 */
export async function eraseAccount(
  accounts: Accounts,
  id: number,
  { eraseElsewhere }: Erasing,
  signal: AbortSignal = new AbortController().signal,
): Promise<boolean> {
  const found = await findUserById(accounts.db, id)
  if (!isDue(found, accounts.clock())) return false
  await shortenAuditToRename(accounts.db, found.username, `user ${id}`, signal)
  if (signal.aborted) return false
  const erased = await inTransaction(accounts.db, async (db) => {
    const user = await lockUser(db, id)
    const now = accounts.clock()
    if (!isDue(user, now)) return false
    await eraseElsewhere(db, user)
    const until = secondsAfter(now, HELD_DAYS * DAY_SECONDS)
    await insertTombstone(db, id, { ...hashesOf(accounts, user), now, until })
    await renameInAudit(db, user.username, `user ${id}`)
    await deleteUser(db, id)
    failPoint('erasure:written')
    const event = { event: 'USER_DELETED', subject: `user ${id}`, userId: id } as const
    await recordSecurityEvent({ ...accounts, db }, event, ORIGIN)
    return true
  })
  failPoint('erasure:committed')
  return erased
}

/** Longer than any request takes. */
const LATE_SECONDS = 600

/**
 * A request that was in flight during an erasure, such as a login whose password was being checked, records the
 * username after it. Only hashes of erased names are left, so every recent name in the audit is hashed.
 */
export async function renameLateEvents(accounts: Accounts): Promise<void> {
  const { db, clock } = accounts
  const erased = await listRecentTombstones(db, secondsAfter(clock(), -LATE_SECONDS))
  const [first] = erased
  if (!first) return
  const ids = new Map(erased.map(({ usernameHash, userId }) => [usernameHash, userId]))
  const since = secondsAfter(new Date(first.deletedAt), -MAX_CLOCK_SKEW_SECONDS)
  for (const name of await listNamesInAudit(db, since)) {
    const id = ids.get(heldHash(accounts, name))
    if (id !== undefined) await renameInAudit(db, name, `user ${id}`)
  }
}

function isDue(user: User | undefined, now: Date): user is User {
  return user?.deletion !== undefined && user.deletion.at <= now.toISOString()
}

/** Call it after the write, in its transaction: an erasure or a change may have just freed the unique index. */
export async function refuseHeldNames(
  accounts: Accounts,
  db: Db<AccountTables>,
  names: { id: number; username?: string; email: string },
): Promise<void> {
  const held = await findHeldName(db, hashesOf(accounts, names), accounts.clock())
  if (held) throw held === 'username' ? usernameTaken() : emailTaken()
  if (await accounts.isHeld?.(db, names, accounts.clock())) throw emailTaken()
}

function hashesOf(accounts: Accounts, { username, email }: { username?: string; email: string }) {
  return {
    ...(username !== undefined && { usernameHash: heldHash(accounts, username) }),
    emailHash: heldHash(accounts, email),
  } as { usernameHash: string; emailHash: string }
}

function heldHash({ settings }: Accounts, name: string): string {
  return createHmac('sha256', settings.masterKey).update(`held name\n${name}`).digest('base64url')
}
