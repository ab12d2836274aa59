import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { accessTokenRejected, type Problem, validationFailed } from '@plinth/kit/problems'
import type { Accounts } from '../accounts.ts'
import { type Origin, recordSecurityEvent } from '../audit/audit.ts'
import {
  type Attempt,
  attemptOf,
  findFailures,
  forgetFailures,
  isThrottledNow,
  type Refusal,
  recordFailure,
  refuseWhenThrottled,
} from '../audit/failure-limit.ts'
import type { AuditEvent } from '../audit-events.ts'
import { revokeSessions } from '../database/ended-sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import {
  findCaller,
  lockUser,
  type User,
  updatePasswordHash,
} from '../database/users.repository.ts'
import { refuseGuessable } from './guessable-passwords.ts'
import { requireUser } from './users.ts'

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
  if (owner.passwordExpired && isSame(newPassword, currentPassword))
    throw validationFailed(['newPassword: must not be the current password'])
  const proof = {
    password: currentPassword,
    field: 'currentPassword',
    event: 'PASSWORD_CHANGED',
  } as const
  await withOwnPassword(accounts, caller, proof, origin, {
    prepare: () => accounts.passwords.hash(newPassword, origin.address, SIGNED_IN),
    async work(db, user, newHash) {
      await updatePasswordHash(db, user.id, newHash)
      await revokeSessions(db, user.id, { except: Number(caller.sessionId) })
      const who = { actor: user.username, subject: user.username, userId: user.id }
      await recordSecurityEvent({ ...accounts, db }, { event: proof.event, ...who }, origin)
    },
  })
}

// Normalising hostile text takes quadratic time, and no password is longer.
const MAX_COMPARED = 2048

/** As they are hashed: encodings do not count. */
function isSame(newPassword: string, currentPassword: string): boolean {
  if (currentPassword.length > MAX_COMPARED) return false
  return newPassword.normalize('NFKC') === currentPassword.normalize('NFKC')
}

/** The caller's session is proof enough that the network is known. */
const SIGNED_IN = { isKnown: true }

type PasswordProof = { password: string; field: string; event: AuditEvent }

type Work<P, R> = {
  /** Runs after the password was found right, outside the transaction. */
  prepare(): Promise<P>
  /** Runs in a transaction in which the password cannot change and the session cannot end. */
  work(db: Db<AccountTables>, user: User, prepared: P): Promise<R>
}

/** Two, because meanwhile a login may have stored a new hash of the same password. */
const MAX_TRIES = 2

/** Runs work that requires the caller's password. Wrong passwords share one count, whatever the work is. */
export async function withOwnPassword<P, R>(
  accounts: Accounts,
  caller: Caller,
  proof: PasswordProof,
  origin: Origin,
  work: Work<P, R>,
): Promise<R> {
  for (let tries = 1; ; tries++) {
    const { user, refused } = await checkPassword(accounts, caller, proof, origin)
    const prepared = await work.prepare()
    const done = await inTransaction(accounts.db, async (db) => {
      const now = await lockUser(db, user.id)
      if (now?.passwordHash !== user.passwordHash) return undefined
      if (await isThrottledNow(accounts, refused.attempt, db)) return undefined
      await requireLiveSession(db, caller)
      await forgetFailures(db, refused.attempt)
      return { result: await work.work(db, now, prepared) }
    })
    if (done) return done.result
    // The password or its hash has changed meanwhile, or the failure limit was reached.
    if (tries === MAX_TRIES) throw await rejectPassword(accounts, caller, refused, origin)
  }
}

async function checkPassword(
  accounts: Accounts,
  caller: Caller,
  { password, field, event }: PasswordProof,
  origin: Origin,
): Promise<{ user: User; refused: Refused }> {
  const user = await requireUser(accounts, Number(caller.userId))
  const { id: userId, username, passwordHash } = user
  const attempt = attemptOf('password', username, origin)
  const refused = { attempt, event: { event, actor: username, subject: username, userId }, field }
  const failed = await findFailures(accounts, attempt)
  await refuseWhenThrottled(accounts, { attempt, failed }, refused.event, origin)
  const { passwords } = accounts
  if (await passwords.verify(passwordHash, password, origin.address, SIGNED_IN))
    return { user, refused }
  throw await rejectPassword(accounts, caller, refused, origin)
}

type Refused = { attempt: Attempt; event: Refusal; field: string }

/** The session may have ended since the request began. */
async function requireLiveSession(db: Db<AccountTables>, caller: Caller): Promise<void> {
  if (!(await findCaller(db, caller))) throw accessTokenRejected()
}

/** 401 if the session has ended meanwhile: the password may fail only because it was just changed elsewhere. */
async function rejectPassword(
  accounts: Accounts,
  caller: Caller,
  { attempt, event, field }: Refused,
  origin: Origin,
): Promise<Problem> {
  await recordFailure(accounts, attempt, event, origin)
  await requireLiveSession(accounts.db, caller)
  return validationFailed([`${field}: is not the current password`])
}
