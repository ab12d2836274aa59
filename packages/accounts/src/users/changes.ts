import { type Db, inTransaction, isUniqueViolation } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { accessDenied, accessTokenRejected } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { type By, type Origin, recordSecurityEvent } from '../audit/audit.ts'
import type { AuditEvent } from '../audit-events.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import { normalName } from '../database/names.ts'
import type { AccountTables } from '../database/tables.ts'
import {
  ADMIN_ROLE,
  findCaller,
  lockEnabledAdmins,
  lockUser,
  type User,
  updateEmail,
  updateUserState,
} from '../database/users.repository.ts'
import { deletionPending, emailTaken, lastAdministrator, userUnknown } from '../problems.ts'
import { refuseHeldNames } from './deletion.ts'

type UserChange = { enabled?: boolean; roles?: string[] }

/**
 * Enables or disables a user and sets roles. Takes effect at once: disabling ends all sessions, and every
 * request reads the user's row.
 */
export async function changeUser(
  accounts: Accounts,
  id: number,
  change: UserChange,
  by: By,
): Promise<User> {
  return inTransaction(accounts.db, async (db) => {
    const admins = await lockEnabledAdmins(db)
    if (by.caller) await requireStillAdmin(db, by.caller, admins)
    const before = await lockUser(db, id)
    if (!before) throw userUnknown()
    if (before.deletion) throw deletionPending()
    const { enabled = before.enabled, roles = before.roles } = change
    const after = { ...before, enabled, roles }
    const isLastAdmin = admins.length === 1 && admins[0] === id
    if (isLastAdmin && !(enabled && roles.includes(ADMIN_ROLE))) throw lastAdministrator()
    await updateUserState(db, id, after)
    if (!enabled) await revokeSessions(db, id)
    for (const event of changesBetween(before, after)) {
      const { actor, reason } = by
      const record = { event, actor, reason, subject: before.username, userId: id }
      await recordSecurityEvent({ ...accounts, db }, record, by.origin)
    }
    return after
  })
}

/**
 * Call it in the transaction that grants rights: the caller may have been disabled since the request began, or
 * two administrators may disable each other at the same time. Service keys, which have no session, and users of
 * another issuer, who have no account here, are not checked.
 */
export async function requireStillAdmin(
  db: Db<AccountTables>,
  caller: Caller,
  lockedAdmins?: number[],
): Promise<void> {
  if (caller.sessionId === '' || !/^\d+$/.test(caller.userId)) return
  const admins = lockedAdmins ?? (await lockEnabledAdmins(db))
  if (!(await findCaller(db, caller))) throw accessTokenRejected()
  if (!admins.includes(Number(caller.userId))) throw accessDenied()
}

type EmailChange = {
  email: string
  /** Decides in the transaction, with the user's row locked, whether it may still be changed. */
  admit(db: Db<AccountTables>, user: User): Promise<boolean>
}

/** The unique index decides whether the address is free. Returns whether it was changed. */
export async function changeEmail(
  accounts: Accounts,
  id: number,
  { email, admit }: EmailChange,
  origin: Origin,
): Promise<boolean> {
  try {
    return await inTransaction(accounts.db, async (db) => {
      const user = await lockUser(db, id)
      if (!user || !(await admit(db, user))) return false
      await updateEmail(db, id, normalName(email))
      await refuseHeldNames(accounts, db, { id, email: normalName(email) })
      const { username } = user
      const event = {
        event: 'EMAIL_CHANGED',
        actor: username,
        subject: username,
        userId: id,
      } as const
      await recordSecurityEvent({ ...accounts, db }, event, origin)
      return true
    })
  } catch (error) {
    throw isUniqueViolation(error) ? emailTaken() : error
  }
}

function changesBetween(before: User, after: User): AuditEvent[] {
  const events: AuditEvent[] = []
  if (before.enabled !== after.enabled) {
    events.push(after.enabled ? 'USER_ENABLED' : 'USER_DISABLED')
  }
  const rolesOf = ({ roles }: User) => roles.toSorted().join()
  if (rolesOf(before) !== rolesOf(after)) events.push('ROLES_CHANGED')
  return events
}
