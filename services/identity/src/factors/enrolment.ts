import {
  findAuthentication,
  lockCaller,
  type Origin,
  recordSecurityEvent,
  requireUser,
  type User,
  updateAuthentication,
  updateSecondFactor,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { secondsAfter } from '@plinth/kit/runtime'
import { sealText } from '@plinth/kit/tokens'
import {
  activateFactor,
  findFactor,
  insertPendingFactor,
  markChecked,
  replaceRecoveryCodes,
  unusedRecoveryCodes,
} from '../database/factors.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { ENROLMENT_SECONDS } from '../limits.ts'
import { factorAbsent, factorActive } from './problems.ts'
import { newRecoveryCodes, recoveryCodeHash } from './recovery-codes.ts'
import {
  callerRefusal,
  dropSecondFactor,
  type FactorProof,
  type Factors,
  proveSecondFactor,
  secretOf,
} from './second-factor.ts'
import { base32, enrolmentUri, newSecret, stepOfCode } from './totp.ts'

/** Starts over if an enrolment is pending. Sign-ins are not affected until a code confirms it. */
export async function enrolTotp(factors: Factors, caller: Caller) {
  const { accounts, issuer } = factors
  const secret = newSecret()
  const { username } = await inAccount(factors, caller, async (db, user) => {
    const sealed = sealText(
      accounts.settings.masterKey,
      secret.toString('base64url'),
      `totp ${user.id}`,
    )
    const createdAt = accounts.clock().toISOString()
    const begun = await insertPendingFactor(db, { userId: user.id, secret: sealed, createdAt })
    if (!begun) throw factorActive()
    return user
  })
  return { secret: base32(secret), uri: enrolmentUri(secret, { issuer, account: username }) }
}

/** From now on every sign-in requires the factor. Other sessions are not ended. */
export async function confirmTotp(
  factors: Factors,
  caller: Caller,
  code: string,
  origin: Origin,
): Promise<string[]> {
  const { accounts } = factors
  return inAccount(factors, caller, async (db, user) => {
    const now = accounts.clock()
    const factor = await findFactor(db, user.id)
    if (factor?.state === 'active') throw factorActive()
    if (!factor || factor.createdAt <= secondsAfter(now, -ENROLMENT_SECONDS).toISOString())
      throw factorAbsent()
    const step = stepOfCode(secretOf(accounts, factor), code, now)
    if (step === undefined)
      throw validationFailed([
        'code: is wrong or has expired; enter the one that your app shows now',
      ])
    if (!(await activateFactor(db, factor, { step, now }))) throw factorAbsent()
    await updateSecondFactor(db, user.id, true)
    await addToSession(db, caller)
    await recordSecurityEvent({ ...accounts, db }, { event: 'TOTP_ADDED', ...whoIs(user) }, origin)
    return issueRecoveryCodes(factors, db, user.id)
  })
}

/** Enrolling has proved the factor in this session. */
async function addToSession(db: Db<IdentityTables>, caller: Caller) {
  const sessionId = Number(caller.sessionId)
  const known = await findAuthentication(db, sessionId)
  if (!known) return
  const amr = [...new Set([...known.amr, 'otp', 'mfa'])]
  await updateAuthentication(db, sessionId, { ...known, amr })
}

/** Requires a current code or a recovery code: a stolen session or password is not enough. */
export async function removeTotp(
  factors: Factors,
  caller: Caller,
  proof: FactorProof,
  origin: Origin,
): Promise<void> {
  await withFactor(factors, caller, proof, origin, (db, user) =>
    dropSecondFactor(factors.accounts, db, user, { actor: user.username, origin }),
  )
}

/** The earlier codes stop working. */
export async function renewRecoveryCodes(
  factors: Factors,
  caller: Caller,
  proof: { code: string },
  origin: Origin,
): Promise<string[]> {
  const { accounts } = factors
  return withFactor(factors, caller, proof, origin, async (db, user) => {
    const event = { event: 'RECOVERY_CODES_RENEWED', ...whoIs(user) } as const
    await recordSecurityEvent({ ...accounts, db }, event, origin)
    return issueRecoveryCodes(factors, db, user.id)
  })
}

async function withFactor<R>(
  factors: Factors,
  caller: Caller,
  proof: FactorProof,
  origin: Origin,
  work: (db: Db<IdentityTables>, user: User) => Promise<R>,
): Promise<R> {
  const done = await inAccount(factors, caller, async (db, user) => {
    if (!user.secondFactor) throw factorAbsent()
    const outcome = await proveSecondFactor(factors, db, user, proof, origin)
    if (outcome !== 'passed') return { refusal: callerRefusal(factors.accounts, proof, outcome) }
    return { result: await work(db, user) }
  })
  // Thrown only after the commit, so that the failure stays counted.
  if ('refusal' in done) throw done.refusal
  return done.result
}

/** Runs work in a transaction in which the session cannot end and the account cannot change. */
function inAccount<R>(
  { accounts, db }: Factors,
  caller: Caller,
  work: (db: Db<IdentityTables>, user: User) => Promise<R>,
): Promise<R> {
  return inTransaction(db, async (inside) => {
    await lockCaller(inside, caller)
    const within = { ...accounts, db: inside }
    return work(inside, await requireUser(within, Number(caller.userId)))
  })
}

async function issueRecoveryCodes({ accounts }: Factors, db: Db<IdentityTables>, userId: number) {
  const codes = newRecoveryCodes()
  const { masterKey } = accounts.settings
  const hashes = codes.map((code) => recoveryCodeHash(masterKey, userId, code))
  await replaceRecoveryCodes(db, userId, { hashes, now: accounts.clock() })
  return codes
}

/** A user who has not saved the codes is locked out when the phone is lost, so the pages ask to type one back. */
export async function checkRecoveryCode(
  { accounts, db }: Factors,
  caller: Caller,
  typed: string,
): Promise<void> {
  const userId = Number(caller.userId)
  const codeHash = recoveryCodeHash(accounts.settings.masterKey, userId, typed)
  if (await markChecked(db, { userId, codeHash }, accounts.clock())) return
  throw validationFailed(['recoveryCode: is none of those that work'])
}

export function recoveryCodesLeft({ db }: Factors, caller: Caller) {
  return unusedRecoveryCodes(db, Number(caller.userId))
}

function whoIs({ id, username }: User) {
  return { actor: username, subject: username, userId: id }
}
