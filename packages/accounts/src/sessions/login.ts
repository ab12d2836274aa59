import type { Accounts } from '../accounts.ts'
import type { Origin } from '../audit/audit.ts'
import {
  type Attempt,
  admitGuess,
  attemptOf,
  findFailures,
  forgetFailures,
  type Guess,
  isKnownNetwork,
  isRefusedNow,
  isThrottledNow,
  type Refusal,
  reachedTotals,
  recordFailure,
  refuseWhenThrottled,
  totalsOf,
} from '../audit/failure-limit.ts'
import { formsOf, normalName } from '../database/names.ts'
import { findUserByForms, type User, updatePasswordHash } from '../database/users.repository.ts'
import { credentialsRejected } from '../problems.ts'
import { openSession, type TokenPair } from './sessions.ts'

type Credentials = { username: string; password: string }

/** Two, because meanwhile another login may have stored a new hash of the same password. */
const MAX_TRIES = 2

export async function logIn(
  accounts: Accounts,
  credentials: Credentials,
  origin: Origin,
): Promise<TokenPair> {
  for (let tries = 1; ; tries++) {
    const { proven, attempt, refusal, guess } = await checkPassword(accounts, credentials, origin)
    const pair = proven && (await openPasswordSession(accounts, proven, origin))
    if (pair) return pair
    // The password was right, but its hash has changed meanwhile, or the failure limit was reached.
    if (proven && tries < MAX_TRIES) continue
    await recordFailure(accounts, attempt, refusal, origin, guess)
    throw credentialsRejected()
  }
}

/**
 * An unknown user, a wrong password and a disabled user cost the same hash in the same queue and the
 * same statements, and get the same answer.
 */
async function checkPassword(
  accounts: Accounts,
  credentials: Credentials,
  origin: Origin,
): Promise<Checked> {
  const username = normalName(credentials.username)
  const attempt = attemptOf('login', username, origin)
  const totals = totalsOf(accounts, username, origin)
  const [user, failed, reached] = await Promise.all([
    findUserByForms(accounts.db, formsOf(credentials.username)),
    findFailures(accounts, attempt),
    reachedTotals(accounts, totals),
  ])
  const refusal = { event: 'LOGIN', subject: user?.username } as const
  await refuseWhenThrottled(accounts, { attempt, failed }, refusal, origin)
  // Looked up only when it matters: when a limit is reached, or others are waiting.
  const matters = reached.length > 0 || accounts.passwords.waiting() > 0
  const isKnown = matters && (await isKnownNetwork(accounts, { ...user }, origin))
  const login = { isKnown, totals, reached }
  const guess = await admitGuess(accounts, login, refusal, origin)

  const { password } = credentials
  const hash = user?.passwordHash
  const matches = await accounts.passwords.verify(hash, password, origin.address, { isKnown })
  if (user && matches) await turnAway(accounts, { user, attempt, guess }, origin)
  const isProven = user?.enabled && matches
  const proven = isProven ? { user, password, attempt, guess, isKnown } : undefined
  return { proven, attempt, refusal, guess }
}

type Checked = { proven: Proven | undefined; attempt: Attempt; refusal: Refusal; guess: Guess }

/** A rate-limited caller must not learn that the password was right. */
async function turnAway(
  accounts: Accounts,
  { user, attempt, guess }: Omit<Proven, 'password' | 'isKnown'>,
  origin: Origin,
): Promise<void> {
  if (!accounts.turnAway || !(user.passwordExpired || user.deletion)) return
  const limited = await Promise.all([
    isThrottledNow(accounts, attempt, accounts.db),
    isRefusedNow(accounts, guess, accounts.db),
  ])
  if (!limited.includes(true)) await accounts.turnAway.run(accounts, user, ['pwd'], origin)
}

type Proven = { user: User; password: string; attempt: Attempt; guess: Guess; isKnown: boolean }

async function openPasswordSession(
  accounts: Accounts,
  proven: Proven,
  origin: Origin,
): Promise<TokenPair | undefined> {
  const { user, password, attempt, guess, isKnown } = proven
  const { passwords } = accounts
  const newHash = passwords.isOutdated(user.passwordHash)
    ? await passwords.hash(password, origin.address, { isKnown })
    : undefined
  const { pair } = await openSession(
    accounts,
    {
      userId: user.id,
      event: 'LOGIN',
      amr: ['pwd'],
      async admit(db, locked) {
        const [now, ...refusals] = await Promise.all([
          locked,
          isThrottledNow(accounts, attempt, db),
          isRefusedNow(accounts, guess, db),
        ])
        if (now?.passwordHash !== user.passwordHash || now.passwordExpired)
          return { isAdmitted: false }
        if (refusals.includes(true)) return { isAdmitted: false }
        if (newHash) await updatePasswordHash(db, user.id, newHash)
        await forgetFailures(db, attempt)
        return { isAdmitted: true }
      },
    },
    origin,
  )
  return pair
}
