import { type Caller, callerGuard } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { findUserById } from './users.repository.ts'

export type AccountGuard = ReturnType<typeof callerGuard>

export function accountGuard(accounts: Accounts): AccountGuard {
  return callerGuard((token) => identifyCaller(accounts, token))
}

/** Who a good token speaks for now: the roles and the state are the row's, not the token's. */
export async function identifyCaller(
  { db, verifier }: Accounts,
  token: string,
): Promise<Caller | undefined> {
  const subject = await verifier.verify(token)
  if (!subject) return undefined
  const user = await findUserById(db, Number(subject.userId))
  if (!user?.enabled) return undefined
  return { ...subject, username: user.username, roles: user.roles }
}
