import { type Db, hashOpaqueToken, type Problem, secondsAfter } from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import {
  addFailedAttempt,
  deleteFailedAttempts,
  type FailedAttempts,
  findFailedAttempts,
  lockFailedAttempts,
  type Window,
} from './failed-attempts.repository.ts'
import type { Origin } from './origin.ts'
import { clientNetwork } from './passwords/client-network.ts'
import { tooManyFailures } from './problems.ts'
import type { AccountTables } from './tables.ts'

/**
 * Failures are counted per name and network together: an attacker slows down himself, and neither
 * the owner of the account elsewhere nor the neighbours behind one address. The count lives in the
 * database, where every node sees it and a sweep bounds it.
 */
export type Attempt = string

export function attemptOf(kind: string, username: string, origin: Origin): Attempt {
  return hashOpaqueToken([kind, username, clientNetwork(origin.address)].join('\n'))
}

export function findFailures(
  accounts: Accounts,
  attempt: Attempt,
): Promise<FailedAttempts | undefined> {
  return findFailedAttempts(accounts.db, attempt, windowOf(accounts))
}

export function isSlowed({ settings }: Accounts, { failures }: FailedAttempts): boolean {
  return failures >= settings.failures.limit
}

/** Asked again where a right password is let in: others may have failed while it was checked. */
export async function isSlowedNow(
  accounts: Accounts,
  attempt: Attempt,
  db: Db<AccountTables>,
): Promise<boolean> {
  const failed = await lockFailedAttempts(db, attempt, windowOf(accounts))
  return failed !== undefined && isSlowed(accounts, failed)
}

export function countFailure(
  accounts: Accounts,
  attempt: Attempt,
  db: Db<AccountTables> = accounts.db,
): Promise<FailedAttempts> {
  return addFailedAttempt(db, attempt, windowOf(accounts))
}

function windowOf({ clock, settings }: Accounts): Window {
  const now = clock()
  return { now, endsAt: secondsAfter(now, settings.failures.windowSeconds) }
}

export function forgetFailures(db: Db<AccountTables>, attempt: Attempt): Promise<void> {
  return deleteFailedAttempts(db, attempt)
}

export function slowedDown(accounts: Accounts, { endsAt }: FailedAttempts): Problem {
  const seconds = Math.ceil((endsAt.getTime() - accounts.clock().getTime()) / 1000)
  return tooManyFailures({ headers: { 'retry-after': String(Math.max(1, seconds)) } })
}
