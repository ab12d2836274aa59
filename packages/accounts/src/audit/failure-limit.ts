import { type Db, inTransaction } from '@plinth/kit/database'
import type { Problem } from '@plinth/kit/problems'
import { clientNetwork, networkShares, secondsAfter, widestNetwork } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import type { Accounts } from '../accounts.ts'
import {
  type Counted,
  countAttempt,
  deleteAttempt,
  findCounted,
  listCounted,
  lockCounted,
  takeBackAttempt,
  type Window,
} from '../database/counted-attempts.repository.ts'
import { listSessionAddresses } from '../database/sessions.repository.ts'
import type { AccountTables } from '../database/tables.ts'
import { tooManyFailures } from '../problems.ts'
import { type Origin, recordSecurityEvent, type SecurityEvent } from './audit.ts'

/**
 * Failures are counted per pair of name and network: attackers throttle only themselves, neither the
 * owner of the account elsewhere nor others behind the same address. The counts are in the database, so
 * every node sees them and maintenance deletes the old ones.
 */
export type Attempt = string

export function attemptOf(kind: string, username: string, origin: Origin): Attempt {
  return attemptFrom(kind, username, clientNetwork(origin.address))
}

function attemptFrom(kind: string, username: string, network: string): Attempt {
  return hashOpaqueToken([kind, username, network].join('\n'))
}

export function findFailures(accounts: Accounts, attempt: Attempt) {
  return findCounted(accounts.db, attempt, windowOf(accounts))
}

function isThrottled({ settings }: Accounts, { times }: Counted): boolean {
  return times >= settings.failures.limit
}

/** Checked again before a session opens: more failures may have been counted while the password was hashed. */
export async function isThrottledNow(
  accounts: Accounts,
  attempt: Attempt,
  db: Db<AccountTables>,
): Promise<boolean> {
  const failed = await lockCounted(db, attempt, windowOf(accounts))
  return failed !== undefined && isThrottled(accounts, failed)
}

function countFailure(accounts: Accounts, attempt: Attempt, db = accounts.db) {
  return countAttempt(db, attempt, windowOf(accounts))
}

function windowOf({ clock, settings }: Accounts): Window {
  const now = clock()
  return { now, endsAt: secondsAfter(now, settings.failures.windowSeconds) }
}

export function forgetFailures(db: Db<AccountTables>, attempt: Attempt): Promise<void> {
  return deleteAttempt(db, attempt)
}

export function throttled(accounts: Accounts, { endsAt }: Pick<Counted, 'endsAt'>): Problem {
  const seconds = Math.ceil((endsAt.getTime() - accounts.clock().getTime()) / 1000)
  return tooManyFailures({ headers: { 'retry-after': String(Math.max(1, seconds)) } })
}

export type Refusal = Omit<SecurityEvent, 'result'>

/**
 * Records a refusal. Refusals are cheap to provoke and must not fill the disk: per event, name and widest
 * network (an attacker has many /64s), the first ones in a window get a row each, the next one a row that says THROTTLED, and the rest cost one
 * query each and leave no row. Pass an empty name where the count must not reveal which names exist.
 */
export function recordRefusal(
  accounts: Accounts,
  refusal: Refusal,
  origin: Origin,
  name = [refusal.actor, refusal.subject].join('\n'),
): Promise<Counted> {
  const attempt = attemptFrom(`refused ${refusal.event}`, name, widestNetwork(origin.address))
  return recordFirst(accounts, { refusal, attempt, rows: accounts.settings.failures.limit }, origin)
}

/** Runs before the password is checked, so a right password is refused like a wrong one. */
export async function refuseWhenThrottled(
  accounts: Accounts,
  { attempt, failed }: { attempt: Attempt; failed: Counted | undefined },
  refusal: Refusal,
  origin: Origin,
): Promise<void> {
  if (!failed || !isThrottled(accounts, failed)) return
  await recordThrottle(accounts, attempt, refusal, origin)
  throw throttled(accounts, failed)
}

/** Writes one THROTTLED row per window. */
export function recordThrottle(accounts: Accounts, attempt: Attempt, refusal: Refusal, at: Origin) {
  return recordFirst(accounts, { refusal, attempt: `slowed ${attempt}`, rows: 0 }, at)
}

/**
 * Counts a wrong password. When many are checked concurrently, those past the limit get the same answer as
 * if they had come one after another: a burst learns no more than a patient guesser.
 */
export async function recordFailure(
  accounts: Accounts,
  attempt: Attempt,
  refusal: Refusal,
  origin: Origin,
  guess?: Guess,
): Promise<void> {
  const exceeded = await inTransaction(accounts.db, async (db) => {
    const inside = { ...accounts, db }
    const counted = await countFailure(inside, attempt)
    if (counted.times > accounts.settings.failures.limit) return { attempt, ...counted }
    const over = guess && (await countGuess(inside, guess))
    if (!over) await recordSecurityEvent(inside, { ...refusal, result: 'REFUSED' }, origin)
    return over
  })
  if (!exceeded) return
  await recordThrottle(accounts, exceeded.attempt, refusal, origin)
  throw throttled(accounts, exceeded)
}

type Total = { attempt: Attempt; limit: number; network?: string }

/** A login and the totals it counts towards; `admitted` when it may pass although a total is reached. */
export type Guess = { totals: Total[]; admitted: boolean }

const SLOT_SECONDS = 30

/** Failures are counted in this order, so that two of them cannot deadlock. */
export function totalsOf({ settings }: Accounts, username: string, origin: Origin): Total[] {
  const { perNetwork, perAccount } = settings.failedLogins
  return [
    ...totalsFrom('login from', perNetwork, origin),
    { attempt: hashOpaqueToken(['login as', username].join('\n')), limit: perAccount },
  ]
}

/** One for each network that the client is in, narrowest first. */
function totalsFrom(kind: string, limit: number, { address }: Origin): Total[] {
  return networkShares(address, limit).map((share) => ({
    ...share,
    attempt: attemptFrom(kind, '', share.network),
  }))
}

type Login = { isKnown: boolean; totals: Total[]; reached: Total[] }

/**
 * Failures are also counted per network and per name, against many names tried from one network and one
 * name tried from many networks. Beyond either limit, one login every 30 seconds is admitted. Attackers
 * cannot lock out the owner: refresh tokens and passkeys are not limited, and neither is a network where
 * the user has a session.
 */
export async function admitGuess(
  accounts: Accounts,
  { isKnown, totals, reached }: Login,
  refusal: Refusal,
  origin: Origin,
): Promise<Guess> {
  if (reached.length === 0) return { totals, admitted: false }
  if (isKnown) return { totals, admitted: true }
  for (const { attempt } of reached) {
    const taken = await takeSlot(accounts, `slot ${attempt}`)
    if (!taken) continue
    await recordThrottle(accounts, attempt, refusal, origin)
    throw throttled(accounts, taken)
  }
  return { totals, admitted: true }
}

/** Checked again before a session opens, like the limit per name and network. */
export async function isRefusedNow(
  accounts: Accounts,
  { totals, admitted }: Guess,
  db: Db<AccountTables>,
): Promise<boolean> {
  return !admitted && (await reachedTotals({ ...accounts, db }, totals)).length > 0
}

export async function reachedTotals(accounts: Accounts, totals: Total[]): Promise<Total[]> {
  const attempts = totals.map(({ attempt }) => attempt)
  const failed = await listCounted(accounts.db, attempts, windowOf(accounts))
  return totals.filter(({ attempt, limit }) =>
    failed.some((row) => row.attempt === attempt && row.times >= limit),
  )
}

/** Whether the user has a session in the network of the client, which a stranger elsewhere cannot have. */
export async function isKnownNetwork(
  accounts: Pick<Accounts, 'clock' | 'db'>,
  { id = 0 }: { id?: number },
  origin: Pick<Origin, 'address'>,
): Promise<boolean> {
  const network = clientNetwork(origin.address)
  const addresses = await listSessionAddresses(accounts.db, id, accounts.clock())
  return addresses.some((address) => clientNetwork(address) === network)
}

/** Returns the end of the slot if it is taken. The atomic count lets one of several concurrent logins have it. */
async function takeSlot(accounts: Accounts, slot: Attempt): Promise<Counted | undefined> {
  const now = accounts.clock()
  const window = { now, endsAt: secondsAfter(now, SLOT_SECONDS) }
  const taken = await findCounted(accounts.db, slot, window)
  if (taken) return taken
  const counted = await countAttempt(accounts.db, slot, window)
  return counted.times > 1 ? counted : undefined
}

/** Returns the first limit that the failure exceeds, unless it was admitted. */
async function countGuess(accounts: Accounts, { totals, admitted }: Guess) {
  let beyond: (Counted & { attempt: Attempt }) | undefined
  for (const { attempt, limit, network } of totals) {
    // What a network does beyond its limit does not use up the limit of the networks around it.
    if (network && beyond) continue
    const { times } = await countFailure(accounts, attempt)
    const endsAt = secondsAfter(accounts.clock(), SLOT_SECONDS)
    if (times > limit && !admitted) beyond ??= { attempt, times, endsAt }
  }
  return beyond
}

async function recordFirst(
  accounts: Accounts,
  { refusal, attempt, rows }: { refusal: Refusal; attempt: Attempt; rows: number },
  origin: Origin,
): Promise<Counted> {
  const before = await findFailures(accounts, attempt)
  if (before && before.times > rows) return before
  return inTransaction(accounts.db, async (db) => {
    const counted = await countFailure(accounts, attempt, db)
    if (counted.times > rows + 1) return counted
    const result = counted.times > rows ? 'THROTTLED' : 'REFUSED'
    await recordSecurityEvent({ ...accounts, db }, { ...refusal, result }, origin)
    return counted
  })
}

type Allowance = { kind: string; limit: number; seconds: number }

/** Counts an attempt, and throws 429 once there are more than allowed. */
export async function admitWithin(
  accounts: Accounts,
  allowance: Allowance,
  refusal: Refusal,
  origin: Origin,
): Promise<void> {
  const beyond = await countFrom(accounts, allowance, refusal, origin)
  if (beyond) throw throttled(accounts, beyond)
}

/** Counts an attempt in each network of the client. Records and returns the first limit that it exceeds. */
export async function countFrom(
  accounts: Accounts,
  { kind, limit, seconds }: Allowance,
  refusal: Refusal,
  origin: Origin,
): Promise<Counted | undefined> {
  for (const { attempt, limit: most } of totalsFrom(kind, limit, origin)) {
    const counted = await countWithin(accounts, attempt, seconds)
    if (counted.times <= most) continue
    await recordThrottle(accounts, attempt, refusal, origin)
    return counted
  }
  return undefined
}

/** Takes back what `countFrom` has counted in advance. */
export async function takeBackFrom(
  { db }: Pick<Accounts, 'db'>,
  { kind, limit }: Allowance,
  origin: Origin,
): Promise<void> {
  for (const { attempt } of totalsFrom(kind, limit, origin)) await takeBackAttempt(db, attempt)
}

/** Counts in a window of the given length; the first attempt in it returns 1. */
export function countWithin(
  accounts: Pick<Accounts, 'clock' | 'db'>,
  attempt: Attempt,
  seconds: number,
  db: Db<AccountTables> = accounts.db,
): Promise<Counted> {
  const now = accounts.clock()
  return countAttempt(db, attempt, { now, endsAt: secondsAfter(now, seconds) })
}
