import {
  type Admission,
  type Gate,
  lockUser,
  type Origin,
  openSession,
  recordSecurityEvent,
  type TokenPair,
  type User,
} from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import { type Clock, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { insertStep, isStepOpen, spendStep, tryStep } from '../database/factors.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { MAX_STEP_TRIES, STEP_SECONDS } from '../limits.ts'
import { codeRejected, emailNotVerified, mfaRequired } from './problems.ts'
import {
  type FactorProof,
  type Factors,
  methodsOf,
  type Outcome,
  proveSecondFactor,
  SECOND_FACTOR_USED,
  signInRefusal,
} from './second-factor.ts'

/**
 * The gate that every sign-in passes before it gets a session, because only `openSession`, which calls it,
 * can create one. It asks for the second factor after a password, and after a passkey without user
 * verification; a passkey with user verification already counts as two factors.
 */
export function openGate(clock: Clock, { requireVerified }: { requireVerified: boolean }): Gate {
  return {
    always: requireVerified,
    problems: [mfaRequired, ...(requireVerified ? [emailNotVerified] : [])],
    async ask(db: Db<IdentityTables>, user, amr, origin) {
      if (requireVerified && !user.verified) {
        const refused = { event: 'LOGIN', subject: user.username, result: 'REFUSED' } as const
        await recordSecurityEvent({ db, clock }, refused, origin)
        return emailNotVerified()
      }
      if (!user.secondFactor || amr.includes('mfa')) return undefined
      const mfaToken = newOpaqueToken()
      await insertStep(db, {
        tokenHash: hashOpaqueToken(mfaToken),
        userId: user.id,
        amr: amr.join(' '),
        tries: 0,
        expiresAt: secondsAfter(clock(), STEP_SECONDS).toISOString(),
      })
      const who = { actor: user.username, subject: user.username }
      await recordSecurityEvent({ db, clock }, { event: 'SECOND_FACTOR_ASKED', ...who }, origin)
      return mfaRequired({ extra: { mfaToken, methods: await methodsOf(db, user.id) } })
    },
  }
}

type SecondStep = FactorProof & { mfaToken: string }

/** The second step of a sign-in: the token of the first, and a code. Then refuses an account pending deletion. */
export async function completeLogIn(
  factors: Factors,
  { mfaToken, ...proof }: SecondStep,
  origin: Origin,
): Promise<TokenPair> {
  const { accounts, db } = factors
  const tokenHash = hashOpaqueToken(mfaToken)
  const step = await tryStep(db, tokenHash, { most: MAX_STEP_TRIES, now: accounts.clock() })
  if (!step) throw codeRejected({ extra: { triesLeft: 0 } })
  const amr = [...step.amr.split(' '), 'otp', 'mfa']
  const entry = {
    userId: step.userId,
    event: SECOND_FACTOR_USED,
    amr,
    async admit(inside: Db<IdentityTables>, locked: Promise<User | undefined>): Promise<Tried> {
      const user = (await locked) ?? (await lockUser(inside, step.userId))
      if (!user?.enabled && !user?.deletion) return { isAdmitted: false, outcome: 'wrong' }
      // A concurrent request may have completed this sign-in: the code of this one must not be used up.
      if (!(await isStepOpen(inside, tokenHash))) return { isAdmitted: false, outcome: 'spent' }
      const outcome = await proveSecondFactor(factors, inside, user, proof, origin)
      if (outcome !== 'passed') return { isAdmitted: false, outcome }
      return { isAdmitted: await spendStep(inside, tokenHash), outcome, user }
    },
  }
  const { pair, admission } = await openSession(accounts, entry, origin)
  if (pair) return pair
  const { outcome, user } = admission
  if (user?.deletion) await accounts.turnAway?.run(accounts, user, amr, origin)
  if (outcome === 'spent' || outcome === 'passed') throw codeRejected({ extra: { triesLeft: 0 } })
  throw signInRefusal(accounts, outcome, MAX_STEP_TRIES - step.tries)
}

/** `user` is the one whose code was right. */
type Tried = Admission & { outcome: Outcome | 'spent'; user?: User }
