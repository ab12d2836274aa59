import { type Caller, inTransaction, type Problem, validationFailed } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { recordEvent } from './audit.ts'
import { type Attempt, attemptOf, forgetFailures, isSlowedNow } from './failed-attempts.ts'
import type { Origin } from './origin.ts'
import { type Refusal, recordFailure, refuseWhenSlowed } from './refusals.ts'
import { revokeSessions } from './sessions.repository.ts'
import { lockUser, type User, updatePasswordHash } from './users.repository.ts'
import { refuseCommonPassword, requireUser } from './users.ts'

type PasswordChange = { currentPassword: string; newPassword: string }

/** Needs the old password, and ends every session but the one that asks. */
export async function changeOwnPassword(
  accounts: Accounts,
  caller: Caller,
  change: PasswordChange,
  origin: Origin,
  triesLeft = 1,
): Promise<void> {
  const user = await requireUser(accounts, Number(caller.userId))
  const event = { event: 'PASSWORD_CHANGED', actor: user.username, subject: user.username }
  const attempt = attemptOf('password', user.username, origin)
  await refuseWhenSlowed(accounts, attempt, event, origin)
  refuseCommonPassword(accounts, change.newPassword, 'newPassword')
  const { passwords } = accounts
  const known = await passwords.verify(user.passwordHash, change.currentPassword, origin.address)
  if (!known) throw await rejectChange(accounts, attempt, event, origin)
  const newHash = await passwords.hash(change.newPassword, origin.address)
  const changed = await inTransaction(accounts.db, async (db) => {
    const now = await lockUser(db, user.id)
    if (now?.passwordHash !== user.passwordHash) return false
    if (await isSlowedNow(accounts, attempt, db)) return false
    await updatePasswordHash(db, user.id, newHash)
    await revokeSessions(db, user.id, { otherThan: Number(caller.sessionId) }, accounts.clock())
    await forgetFailures(db, attempt)
    await recordEvent({ ...accounts, db }, event, origin)
    return true
  })
  if (changed) return
  // The hash is another now: renewed by a login at the same time, or really changed. Or others have
  // failed too often meanwhile.
  if (triesLeft === 0) throw await rejectChange(accounts, attempt, event, origin)
  return changeOwnPassword(accounts, caller, change, origin, triesLeft - 1)
}

/** For an operator: no old password, and every session ends. */
export async function resetPassword(
  accounts: Accounts,
  user: User,
  newPassword: string,
  by: { actor: string; origin: Origin },
): Promise<void> {
  const newHash = await accounts.passwords.hash(newPassword, by.origin.address)
  await inTransaction(accounts.db, async (db) => {
    await lockUser(db, user.id)
    await updatePasswordHash(db, user.id, newHash)
    await revokeSessions(db, user.id, 'all', accounts.clock())
    const event = { event: 'PASSWORD_RESET', actor: by.actor, subject: user.username }
    await recordEvent({ ...accounts, db }, event, by.origin)
  })
}

async function rejectChange(
  accounts: Accounts,
  attempt: Attempt,
  event: Refusal,
  origin: Origin,
): Promise<Problem> {
  await recordFailure(accounts, attempt, event, origin)
  return validationFailed(['currentPassword: is not the current password'])
}
