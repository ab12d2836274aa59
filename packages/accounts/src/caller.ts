import { type Caller, callerGuard } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { recordDenials } from './denials.ts'
import { findUserById, type User } from './users.repository.ts'
import { requireUser } from './users.ts'

export type AccountGuard = ReturnType<typeof callerGuard>

export function accountGuard(accounts: Accounts): AccountGuard {
  const guard = callerGuard((token) => identifyCaller(accounts, token))
  return { ...guard, role: (name) => recordDenials(accounts, guard.role(name)) }
}

// The row that identified a caller answers the most frequent question of all, who he is.
const identified = new WeakMap<Caller, User>()

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

export async function ownProfile(accounts: Accounts, caller: Caller): Promise<User> {
  return identified.get(caller) ?? requireUser(accounts, Number(caller.userId))
}
