import { type Db, hashOpaqueToken, inTransaction, type Problem, secondsAfter } from '@plinth/kit'
import type { Accounts } from '../accounts.ts'
import {
  addFailedAttempt,
  deleteFailedAttempts,
  type FailedAttempts,
  findFailedAttempts,
  lockFailedAttempts,
  type Window,
} from '../database/failed-attempts.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import { clientNetwork } from '../passwords/passwords.ts'
import { tooManyFailures } from '../problems.ts'
import { type Origin, recordEvent, type SecurityEvent } from './audit.ts'

/**
 * Failures are counted per name and network together: attackers slow down only themselves, neither
 * the owner of the account elsewhere nor others behind the same address. The count is in the
 * database, where every node sees it and a sweep bounds it.
 */
export type Attempt = string

export function attemptOf(kind: string, username: string, origin: Origin): Attempt {
  return hashOpaqueToken([kind, username, clientNetwork(origin.address)].join('\n'))
}

function findFailures(accounts: Accounts, attempt: Attempt): Promise<FailedAttempts | undefined> {
  return findFailedAttempts(accounts.db, attempt, windowOf(accounts))
}

function isSlowed({ settings }: Accounts, { failures }: FailedAttempts): boolean {
  return failures >= settings.failures.limit
}

/** Checked again before a session opens: others may have failed while the password was checked. */
export async function isSlowedNow(
  accounts: Accounts,
  attempt: Attempt,
  db: Db<AccountTables>,
): Promise<boolean> {
  const failed = await lockFailedAttempts(db, attempt, windowOf(accounts))
  return failed !== undefined && isSlowed(accounts, failed)
}

function countFailure(
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

export type Refusal = Omit<SecurityEvent, 'result'>

/**
 * Records a refusal. Refusals are cheap to provoke and must not fill the disk: of one event, name and
 * network the first ones in the window have a row each, one more row says THROTTLED, and the rest
 * until the window ends cost one query and leave no row.
 */
export function recordRefusal(
  accounts: Accounts,
  refusal: Refusal,
  origin: Origin,
): Promise<FailedAttempts> {
  const { event, actor, subject } = refusal
  const attempt = attemptOf(`refused ${event}`, [actor, subject].join('\n'), origin)
  return recordFirst(accounts, { refusal, attempt, rows: accounts.settings.failures.limit }, origin)
}

/** Refuses before the password is checked, so a right one is refused like a wrong one. */
export async function refuseWhenSlowed(
  accounts: Accounts,
  attempt: Attempt,
  refusal: Refusal,
  origin: Origin,
): Promise<void> {
  const failed = await findFailures(accounts, attempt)
  if (!failed || !isSlowed(accounts, failed)) return
  await recordSlowed(accounts, attempt, refusal, origin)
  throw slowedDown(accounts, failed)
}

function recordSlowed(accounts: Accounts, attempt: Attempt, refusal: Refusal, origin: Origin) {
  return recordFirst(accounts, { refusal, attempt: `slowed ${attempt}`, rows: 0 }, origin)
}

/**
 * Counts a wrong password. Of many checked concurrently, those past the limit get the answer they
 * would have got one after another: a burst learns no more than a patient guesser.
 */
export async function recordFailure(
  accounts: Accounts,
  attempt: Attempt,
  refusal: Refusal,
  origin: Origin,
): Promise<void> {
  const { limit } = accounts.settings.failures
  const failed = await inTransaction(accounts.db, async (db) => {
    const counted = await countFailure(accounts, attempt, db)
    const event = { ...refusal, result: 'REFUSED' } as const
    if (counted.failures <= limit) await recordEvent({ ...accounts, db }, event, origin)
    return counted
  })
  if (failed.failures <= limit) return
  await recordSlowed(accounts, attempt, refusal, origin)
  throw slowedDown(accounts, failed)
}

async function recordFirst(
  accounts: Accounts,
  { refusal, attempt, rows }: { refusal: Refusal; attempt: Attempt; rows: number },
  origin: Origin,
): Promise<FailedAttempts> {
  const before = await findFailures(accounts, attempt)
  if (before && before.failures > rows) return before
  return inTransaction(accounts.db, async (db) => {
    const counted = await countFailure(accounts, attempt, db)
    if (counted.failures > rows + 1) return counted
    const result = counted.failures > rows ? 'THROTTLED' : 'REFUSED'
    await recordEvent({ ...accounts, db }, { ...refusal, result }, origin)
    return counted
  })
}

type Allowance = { attempt: Attempt; limit: number; seconds: number }

/** Counts an attempt, and answers 429 once there are more than allowed. */
export async function admitWithin(
  accounts: Accounts,
  { attempt, limit, seconds }: Allowance,
  refusal: Refusal,
  origin: Origin,
): Promise<void> {
  const counted = await countWithin(accounts, attempt, seconds)
  if (counted.failures <= limit) return
  await recordSlowed(accounts, attempt, refusal, origin)
  throw slowedDown(accounts, counted)
}

/** Counts in a window of its own length; the first in it gets 1. */
export function countWithin(
  accounts: Accounts,
  attempt: Attempt,
  seconds: number,
  db: Db<AccountTables> = accounts.db,
): Promise<FailedAttempts> {
  const now = accounts.clock()
  return addFailedAttempt(db, attempt, { now, endsAt: secondsAfter(now, seconds) })
}
