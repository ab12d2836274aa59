import type { Db } from '@plinth/kit/database'
import { type Caller, callerGuard, type Guard } from '@plinth/kit/http'
import { accessTokenRejected } from '@plinth/kit/problems'
import { type KeyGuard, nameInAudit, onDenial } from '@plinth/service-keys'
import type { AccountGuard, Accounts } from '../accounts.ts'
import { originOf } from '../audit/audit.ts'
import { recordRefusal } from '../audit/failure-limit.ts'
import type { AccountTables } from '../database/tables.ts'
import { findCaller, lockUser, type User } from '../database/users.repository.ts'

/** `callers` also accepts users of another issuer, who can be administrators here without an account. */
export function accountGuard<S extends string>(
  accounts: Accounts,
  keys?: KeyGuard<S>,
  callers?: Callers,
): AccountGuard<S> {
  const guard = callerGuard((token) => identifyCaller(accounts, token))
  const role = (name: string, scope?: S) => {
    const user = (callers ?? guard).role(name)
    return recordDenials(accounts, keys && scope !== undefined ? keys.or(scope, user) : user)
  }
  return { ...guard, role }
}

export type Callers = ReturnType<typeof callerGuard>

/**
 * The caller of a valid token whose session is not revoked and whose user is enabled. Roles come from the
 * user's row, not from the token.
 */
export async function identifyCaller(
  { db, verifier }: Accounts,
  token: string,
): Promise<(Caller & { account: User }) | undefined> {
  const subject = await verifier.verify(token)
  const user = subject && (await findCaller(db, subject))
  return user && { ...subject, username: user.username, roles: user.roles, account: user }
}

/**
 * Checks the caller again in the transaction of a change to an account: the session may have ended since
 * the request began. Until the transaction ends, no session of this user can end.
 */
export async function lockCaller(db: Db<AccountTables>, caller: Caller): Promise<void> {
  const user = await lockUser(db, Number(caller.userId))
  if (!user || !(await findCaller(db, caller))) throw accessTokenRejected()
}

/** Records an audit event whenever the guard denies access to a caller. */
export function recordDenials(accounts: Accounts, guard: Guard): Guard {
  return onDenial(guard, async (request) => {
    const actor = nameInAudit(request.caller)
    const subject = `${request.method} ${request.routeOptions.url}`
    await recordRefusal(accounts, { event: 'ACCESS_DENIED', actor, subject }, originOf(request))
  })
}
