import { type Clock, type Db, hashOpaqueToken, newOpaqueToken, secondsAfter } from '@plinth/kit'
import { insertChallenge, spendChallenge } from './challenges.repository.ts'
import type { PasskeyTables } from './tables.ts'

type Ceremony = 'register' | 'authenticate'

type Store = { db: Db<PasskeyTables>; clock: Clock }

export const CEREMONY_SECONDS = 300

/** A challenge for one ceremony, and for one user where that is known. */
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

/** Good once, whatever comes of the ceremony it was spent on. */
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
