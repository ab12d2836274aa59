import { type Guard, Problem, type Request } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { originOf } from './origin.ts'
import { recordRefusal } from './refusals.ts'

const FORBIDDEN = 403

/** Leaves the decision to a guard, and writes down whom it turned away from what. */
export function recordDenials(accounts: Accounts, guard: Guard): Guard {
  return async (request) => {
    try {
      await guard(request)
    } catch (error) {
      if (error instanceof Problem && error.status === FORBIDDEN)
        await recordDenial(accounts, request)
      throw error
    }
  }
}

async function recordDenial(accounts: Accounts, request: Request): Promise<void> {
  const actor = request.caller.username
  const subject = `${request.method} ${request.routeOptions.url}`
  await recordRefusal(accounts, { event: 'ACCESS_DENIED', actor, subject }, originOf(request))
}
