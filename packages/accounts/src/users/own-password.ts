import {
  accessTokenRejected,
  type Caller,
  type Db,
  inTransaction,
  type Problem,
  validationFailed,
} from '@plinth/kit'
import type { Accounts } from '../accounts.ts'
import { type Origin, recordEvent } from '../audit/audit.ts'
import {
  type Attempt,
  attemptOf,
  findFailures,
  forgetFailures,
  isSlowedNow,
  type Refusal,
  recordFailure,
  refuseWhenSlowed,
} from '../audit/failure-limit.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import {
  findCaller,
  lockUser,
  type User,
  updatePasswordHash,
} from '../database/users.repository.ts'
import { refuseGuessable, requireUser } from './users.ts'

type PasswordChange = { currentPassword: string; newPassword: string }

/** Requires the current password, and ends every session but the caller's. */
export async function changeOwnPassword(
  accounts: Accounts,
  caller: Caller,
  { currentPassword, newPassword }: PasswordChange,
  origin: Origin,
): Promise<void> {
  const owner = await requireUser(accounts, Number(caller.userId))
  await refuseGuessable(accounts, owner, newPassword, 'newPassword')
  if (owner.passwordExpired && newPassword === currentPassword)
    throw validationFailed(['newPassword: must not be the current password'])
  const proof = { password: currentPassword, field: 'currentPassword', event: 'PASSWORD_CHANGED' }
  await withOwnPassword(accounts, caller, proof, origin, {
    prepare: () => accounts.passwords.hash(newPassword, origin.address),
    async work(db, user, newHash) {
      await updatePasswordHash(db, user.id, newHash)
      await revokeSessions(db, user.id, { except: Number(caller.sessionId) })
      const who = { actor: user.username, subject: user.username, userId: user.id }
      await recordEvent({ ...accounts, db }, { event: proof.event, ...who }, origin)
    },
  })
}

type PasswordProof = { password: string; field: string; event: string }

type Work<P, R> = {
  /** Runs once the password is known to be right, outside the transaction. */
  prepare(): Promise<P>
  /** Runs in a transaction in which the password cannot change and the session cannot end. */
  work(db: Db<AccountTables>, user: User, prepared: P): Promise<R>
}

/** Does something that needs the caller's password. Wrong ones are counted, whatever they are for. */
export async function withOwnPassword<P, R>(
  accounts: Accounts,
  caller: Caller,
  proof: PasswordProof,
  origin: Origin,
  work: Work<P, R>,
  triesLeft = 1,
): Promise<R> {
  const user = await requireUser(accounts, Number(caller.userId))
  const who = { actor: user.username, subject: user.username, userId: user.id }
  const attempt = attemptOf('password', user.username, origin)
  const refused = { attempt, event: { event: proof.event, ...who }, field: proof.field }
  const failed = await findFailures(accounts, attempt)
  await refuseWhenSlowed(accounts, { attempt, failed }, refused.event, origin)
  const { passwords } = accounts
  const known = await passwords.verify(user.passwordHash, proof.password, origin.address)
  if (!known) throw await rejectPassword(accounts, caller, refused, origin)
  const prepared = await work.prepare()
  const done = await inTransaction(accounts.db, async (db) => {
    const now = await lockUser(db, user.id)
    if (now?.passwordHash !== user.passwordHash) return undefined
    if (await isSlowedNow(accounts, attempt, db)) return undefined
    await requireLiveSession(db, caller)
    await forgetFailures(db, attempt)
    return { result: await work.work(db, now, prepared) }
  })
  if (done) return done.result
  // The hash has changed in the meantime (rehashed by a login, or a new password), or others have
  // failed too often.
  if (triesLeft === 0) throw await rejectPassword(accounts, caller, refused, origin)
  return withOwnPassword(accounts, caller, proof, origin, work, triesLeft - 1)
}

/** It may have ended since the request began. */
async function requireLiveSession(db: Db<AccountTables>, caller: Caller): Promise<void> {
  if (!(await findCaller(db, caller))) throw accessTokenRejected()
}

/** A session that ended meanwhile is 401: the new password that ended it proves nothing wrong. */
async function rejectPassword(
  accounts: Accounts,
  caller: Caller,
  { attempt, event, field }: { attempt: Attempt; event: Refusal; field: string },
  origin: Origin,
): Promise<Problem> {
  await recordFailure(accounts, attempt, event, origin)
  await requireLiveSession(accounts.db, caller)
  return validationFailed([`${field}: is not the current password`])
}
