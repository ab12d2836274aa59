import { accessDenied, type Caller, callerGuard, type Guard, type Request } from '@plinth/kit'
import type { AccountGuard, Accounts } from '../accounts.ts'
import { originOf } from '../audit/audit.ts'
import { recordRefusal } from '../audit/failure-limit.ts'
import { findUserById, type User } from '../database/users.repository.ts'

export function accountGuard(accounts: Accounts): AccountGuard {
  const guard = callerGuard((token) => identifyCaller(accounts, token))
  return { ...guard, role: (name) => recordDenials(accounts, guard.role(name)) }
}

// The row that identified a caller answers the most frequent question of all, who he is.
export const identified = new WeakMap<Caller, User>()

/** Who a good token speaks for now: the roles and the state are the row's, not the token's. */
export async function identifyCaller(
  { db, verifier }: Accounts,
  token: string,
): Promise<Caller | undefined> {
  const subject = await verifier.verify(token)
  const user = subject && (await findUserById(db, Number(subject.userId)))
  if (!subject || !user?.enabled) return undefined
  const caller = { ...subject, username: user.username, roles: user.roles }
  identified.set(caller, user)
  return caller
}

/** Leaves the decision to a guard, and writes down whom it turned away from what. */
function recordDenials(accounts: Accounts, guard: Guard): Guard {
  return async (request) => {
    try {
      await guard(request)
    } catch (error) {
      if (accessDenied.is(error)) await recordDenial(accounts, request)
      throw error
    }
  }
}

async function recordDenial(accounts: Accounts, request: Request): Promise<void> {
  const actor = request.caller.username
  const subject = `${request.method} ${request.routeOptions.url}`
  await recordRefusal(accounts, { event: 'ACCESS_DENIED', actor, subject }, originOf(request))
}
