import {
  type Accounts,
  findAuthentication,
  lockCaller,
  type Origin,
  recordRefusal,
  recordSecurityEvent,
  requireUser,
  type User,
  updateAuthentication,
  withOwnPassword,
} from '@plinth/accounts'
import { type Db, inTransaction } from '@plinth/kit/database'
import { type Caller, type Guard, guarding, RECENT_SECONDS } from '@plinth/kit/http'
import { type Problem, validationFailed } from '@plinth/kit/problems'
import { secondsAfter } from '@plinth/kit/runtime'
import type { IdentityTables } from '../database/tables.ts'
import { reauthenticationRequired } from './problems.ts'
import {
  callerRefusal,
  type FactorProof,
  type Factors,
  type Outcome,
  proveSecondFactor,
} from './second-factor.ts'

const EVENT = 'REAUTHENTICATED' as const

/** Checks a passkey of a user: returns its authentication methods, and `use` for the transaction that accepts it. */
export type ProvePasskey = (
  credential: unknown,
  userId: number,
) => Promise<{ amr: string[]; use(db: Db<IdentityTables>): Promise<boolean> } | undefined>

type Proof = FactorProof & { password?: string; passkey?: unknown }

/** Marks the session as freshly authenticated, by password or passkey, plus the second factor if there is one. */
export async function reauthenticate(
  factors: Factors & { provePasskey?: ProvePasskey },
  caller: Caller,
  { password, passkey, ...proof }: Proof,
  origin: Origin,
): Promise<void> {
  const { accounts, db, provePasskey } = factors
  const finish = (inside: Db<IdentityTables>, user: User, amr: string[]) =>
    stampSession(factors, inside, { user, caller, amr, proof }, origin)
  let outcome: Outcome
  if (password !== undefined) {
    const known = { password, field: 'password', event: EVENT }
    outcome = await withOwnPassword(accounts, caller, known, origin, {
      prepare: async () => undefined,
      work: (inside: Db<IdentityTables>, user) => finish(inside, user, ['pwd']),
    })
  } else {
    const used = await provePasskey?.(passkey, Number(caller.userId))
    const finished = await inTransaction(db, async (inside) => {
      await lockCaller(inside, caller)
      if (!(await used?.use(inside))) return undefined
      const within = { ...accounts, db: inside }
      const user = await requireUser(within, Number(caller.userId))
      return finish(inside, user, used?.amr ?? [])
    })
    if (!finished) throw await rejectPasskey(accounts, caller, origin)
    outcome = finished
  }
  if (outcome !== 'passed') throw callerRefusal(accounts, proof, outcome)
}

async function rejectPasskey(accounts: Accounts, caller: Caller, origin: Origin): Promise<Problem> {
  const { username } = await requireUser(accounts, Number(caller.userId))
  const refusal = { event: EVENT, actor: username, subject: username } as const
  await recordRefusal(accounts, refusal, origin)
  return validationFailed(['passkey: was not accepted'])
}

type Stamp = { user: User; caller: Caller; amr: string[]; proof: FactorProof }

async function stampSession(
  factors: Factors,
  db: Db<IdentityTables>,
  { user, caller, amr, proof }: Stamp,
  origin: Origin,
): Promise<Outcome> {
  const { accounts } = factors
  const proved = [...amr]
  if (user.secondFactor && !amr.includes('mfa')) {
    const outcome = await proveSecondFactor(factors, db, user, proof, origin)
    if (outcome !== 'passed') return outcome
    proved.push('otp', 'mfa')
  }
  const stamp = { amr: proved, authenticatedAt: accounts.clock() }
  await updateAuthentication(db, Number(caller.sessionId), stamp)
  const who = { actor: user.username, subject: user.username }
  await recordSecurityEvent({ ...accounts, db }, { event: EVENT, ...who }, origin)
  return 'passed'
}

/**
 * Runs after the caller's guard: a session stolen an hour ago must not be able to change the account. A
 * service key has no session to be old.
 */
export function recentGuard({ reauthenticate: asked }: { reauthenticate: boolean }) {
  return (accounts: Accounts): Guard =>
    guarding({ schemes: {}, problems: [reauthenticationRequired] }, async ({ caller }) => {
      if (!asked || caller.sessionId === '') return
      const proved = await findAuthentication(accounts.db, Number(caller.sessionId))
      const user = await requireUser(accounts, Number(caller.userId))
      const since = secondsAfter(accounts.clock(), -RECENT_SECONDS)
      const complete = !user.secondFactor || proved?.amr.includes('mfa')
      if (!proved || proved.authenticatedAt <= since || !complete) throw reauthenticationRequired()
    })
}
