import { accessDenied, type Caller, callerGuard, type Guard } from '@plinth/kit'
import type { AccountGuard, Accounts } from '../accounts.ts'
import { originOf } from '../audit/audit.ts'
import { recordRefusal } from '../audit/failure-limit.ts'
import { findUserById } from '../database/users.repository.ts'

export function accountGuard(accounts: Accounts): AccountGuard {
  const guard = callerGuard((token) => identifyCaller(accounts, token))
  return { ...guard, role: (name) => recordDenials(accounts, guard.role(name)) }
}

/** The caller of a valid token. Roles and state are those of the row, not of the token. */
export async function identifyCaller(
  { db, verifier }: Accounts,
  token: string,
): Promise<Caller | undefined> {
  const subject = await verifier.verify(token)
  const user = subject && (await findUserById(db, Number(subject.userId)))
  if (!subject || !user?.enabled) return undefined
  return { ...subject, username: user.username, roles: user.roles }
}

/** Writes an audit event for every caller whom the guard denies access. */
function recordDenials(accounts: Accounts, guard: Guard): Guard {
  return async (request) => {
    try {
      await guard(request)
    } catch (error) {
      if (accessDenied.is(error)) {
        const actor = request.caller.username
        const subject = `${request.method} ${request.routeOptions.url}`
        await recordRefusal(accounts, { event: 'ACCESS_DENIED', actor, subject }, originOf(request))
      }
      throw error
    }
  }
}
