import {
  type Accounts,
  type By,
  NO_PASSWORD,
  type Origin,
  recordRefusal,
  recordSecurityEvent,
  requireUser,
  throttled,
  type User,
  updateSecondFactor,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { type Problem, validationFailed } from '@plinth/kit/problems'
import { isAhead, MAX_CLOCK_SKEW_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { openText } from '@plinth/kit/tokens'
import {
  addFactorFailure,
  cancelRemoval,
  claimStep,
  deleteFactor,
  findFactor,
  lockFactor,
  spendRecoveryCode,
  type TotpFactor,
  unusedRecoveryCodes,
} from '../database/factors.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { FAILURES_BEFORE_LOCK, LOCK_SECONDS, MAX_LOCK_SECONDS } from '../limits.ts'
import { codeRejected, mfaRequired } from './problems.ts'
import { recoveryCodeHash } from './recovery-codes.ts'
import { stepOfCode } from './totp.ts'

/** What the rules of the second factor need; every rule takes it as its first argument. */
export type Factors = {
  accounts: Accounts
  db: Db<IdentityTables>
  /** The application's name in an authenticator. */
  issuer: string
  /** The delay before a removal by an administrator takes effect. */
  removalHours: number
}

export const SECOND_FACTOR_USED = 'SECOND_FACTOR_USED' as const

export type FactorProof = { code?: string; recoveryCode?: string }

/** `methods` when no code was sent: those the user could send. */
export type Outcome = 'passed' | 'wrong' | { methods: string[] } | { lockedUntil: Date }

/**
 * The only check of a second factor. Runs in a transaction with the user's row locked. Unless it passes, that
 * transaction must commit, because it counts failures. A recovery code works even while the authenticator is
 * locked, and wrong ones lock nothing: 65 bits cannot be guessed. Using the factor cancels a pending removal.
 */
export async function proveSecondFactor(
  { accounts }: Factors,
  db: Db<IdentityTables>,
  user: User,
  { code, recoveryCode }: FactorProof,
  origin: Origin,
): Promise<Outcome> {
  const inside = { ...accounts, db: db }
  const now = accounts.clock()
  const who = { actor: user.username, subject: user.username, userId: user.id }
  const passed = async () => {
    if (await cancelRemoval(db, user.id))
      await recordSecurityEvent(inside, { event: 'TOTP_REMOVAL_CANCELLED', ...who }, origin)
    return 'passed' as const
  }
  if (code !== undefined) {
    const factor = await findFactor(db, user.id)
    const lockedUntil = factor && lockIn(factor, now)
    if (lockedUntil) return { lockedUntil }
    const step = factor && stepOfCode(secretOf(accounts, factor), code, now)
    if (factor && step !== undefined && (await claimStep(db, factor, step))) return passed()
  } else if (recoveryCode !== undefined) {
    const codeHash = recoveryCodeHash(accounts.settings.masterKey, user.id, recoveryCode)
    if (await spendRecoveryCode(db, { userId: user.id, codeHash }, now)) {
      await recordSecurityEvent(inside, { event: 'RECOVERY_CODE_USED', ...who }, origin)
      return passed()
    }
  } else return { methods: await methodsOf(db, user.id) }
  if (code !== undefined) await countWrongCode(db, user.id, now)
  await recordRefusal(inside, { event: SECOND_FACTOR_USED, ...who }, origin)
  return 'wrong'
}

/** A lock that ends later than its failures justify was set while the clock was ahead, and is ignored. */
function lockIn({ lockedUntil, failures }: TotpFactor, now: Date): Date | undefined {
  const until = new Date(lockedUntil ?? 0)
  const longest = lockSeconds(failures - FAILURES_BEFORE_LOCK) + MAX_CLOCK_SKEW_SECONDS
  return isAhead(until, longest, now) ? until : undefined
}

async function countWrongCode(db: Db<IdentityTables>, userId: number, now: Date): Promise<void> {
  const beyond = (await addFactorFailure(db, userId)) - FAILURES_BEFORE_LOCK
  if (beyond >= 0) await lockFactor(db, userId, secondsAfter(now, lockSeconds(beyond)))
}

/** The methods with which the user can prove the second factor. */
export async function methodsOf(db: Db<IdentityTables>, userId: number): Promise<string[]> {
  const { remaining } = await unusedRecoveryCodes(db, userId)
  return ['totp', ...(remaining > 0 ? ['recoveryCode'] : [])]
}

/** Doubles with every further failure: fewer than 30 guesses a day, each with a chance of 1 in 333,333. */
function lockSeconds(beyond: number): number {
  return Math.min(LOCK_SECONDS * 2 ** beyond, MAX_LOCK_SECONDS)
}

export function secretOf(
  { settings }: Accounts,
  { userId, secret }: Pick<TotpFactor, 'userId' | 'secret'>,
): Buffer {
  return Buffer.from(openText(settings.masterKey, secret, `totp ${userId}`), 'base64url')
}

/** The problem for a sign-in or a password reset. */
export function signInRefusal(accounts: Accounts, outcome: Outcome, triesLeft?: number): Problem {
  if (typeof outcome === 'object')
    return 'methods' in outcome ? mfaRequired({ extra: outcome }) : locked(accounts, outcome)
  return codeRejected(triesLeft === undefined ? {} : { extra: { triesLeft } })
}

/** The problem for a caller with a session. A 401 would mean that the session is over. */
export function callerRefusal(accounts: Accounts, proof: FactorProof, outcome: Outcome): Problem {
  const field = proof.code === undefined ? 'recoveryCode' : 'code'
  if (typeof outcome !== 'object')
    return validationFailed([`${field}: is wrong or was used before`])
  return 'methods' in outcome ? validationFailed(['code: is required']) : locked(accounts, outcome)
}

function locked(accounts: Accounts, { lockedUntil }: { lockedUntil: Date }): Problem {
  return throttled(accounts, { endsAt: lockedUntil })
}

/** Removes the factor or a pending enrolment, and the recovery codes. */
export async function dropSecondFactor(
  accounts: Accounts,
  db: Db<IdentityTables>,
  user: User,
  { actor, origin, reason }: Partial<By> & Pick<By, 'origin'>,
): Promise<void> {
  await deleteFactor(db, user.id)
  if (!user.secondFactor) return
  await updateSecondFactor(db, user.id, false)
  const by = { ...(actor !== undefined && { actor }), reason }
  const who = { ...by, subject: user.username, userId: user.id }
  await recordSecurityEvent({ ...accounts, db }, { event: 'TOTP_REMOVED', ...who }, origin)
}

/** For the command line. */
export const factors = {
  drop: (accounts: Accounts<IdentityTables>, user: User, by: By) =>
    dropSecondFactor(accounts, accounts.db, user, by),
}

export async function accountSecurity({ accounts, db }: Factors, caller: Caller) {
  const user = await requireUser(accounts, Number(caller.userId))
  const { id, verified, secondFactor, passwordHash } = user
  const factor = secondFactor ? await findFactor(db, id) : undefined
  return {
    emailVerified: verified,
    password: passwordHash !== NO_PASSWORD,
    secondFactor,
    enrolledAt: factor?.confirmedAt ?? null,
  }
}
