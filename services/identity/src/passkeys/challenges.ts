import { type Job, startJob } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import { secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import {
  deleteExpiredChallenges,
  insertChallenge,
  spendChallenge,
} from '../database/challenges.repository.ts'
import { CEREMONY_SECONDS } from '../limits.ts'
import type { Passkeys } from './passkeys.ts'

type Ceremony = 'register' | 'authenticate'
type Store = Pick<Passkeys, 'db' | 'clock'>

const SWEEP_SECONDS = 60

/** Issues a challenge for one ceremony and, for a registration, for one user. */
export async function issueChallenge(
  { db, clock }: Store,
  ceremony: Ceremony,
  userId: number | null = null,
): Promise<string> {
  const challenge = newOpaqueToken()
  const expiresAt = secondsAfter(clock(), CEREMONY_SECONDS)
  const challengeHash = hashOpaqueToken(challenge)
  await insertChallenge(db, { challengeHash, ceremony, userId, expiresAt })
  return challenge
}

/** A challenge is spent by its first use, whether the ceremony succeeds or not. */
export async function redeemChallenge(
  { db, clock }: Store,
  challenge: string,
  ceremony: Ceremony,
  userId: number | null = null,
): Promise<boolean> {
  const spent = await spendChallenge(db, hashOpaqueToken(challenge))
  if (!spent || spent.expiresAt <= clock()) return false
  return spent.ceremony === ceremony && spent.userId === userId
}

/** Removes the challenges of ceremonies that were never finished. */
export function startChallengeSweep({ db, clock }: Store, { log, metrics }: Server): Job {
  return startJob({
    db: db,
    name: 'identity-challenge-sweep',
    everySeconds: SWEEP_SECONDS,
    log,
    metrics,
    run: (signal) => deleteExpiredChallenges(db, clock(), signal),
  })
}
