import type { Db } from '@plinth/kit'
import type { PasskeyTables } from './tables.ts'

type Challenge = {
  challengeHash: string
  ceremony: string
  userId: number | null
  expiresAt: Date
}

export async function insertChallenge(db: Db<PasskeyTables>, challenge: Challenge): Promise<void> {
  await db
    .insertInto('passkey_challenges')
    .values({
      challenge_hash: challenge.challengeHash,
      ceremony: challenge.ceremony,
      user_id: challenge.userId,
      expires_at: challenge.expiresAt.toISOString(),
    })
    .execute()
}

/** Takes a challenge away and tells what it was for; nobody gets it a second time. */
export async function spendChallenge(
  db: Db<PasskeyTables>,
  challengeHash: string,
): Promise<Challenge | undefined> {
  const row = await db
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', '=', challengeHash)
    .returningAll()
    .executeTakeFirst()
  return (
    row && {
      challengeHash,
      ceremony: row.ceremony,
      userId: row.user_id,
      expiresAt: new Date(row.expires_at),
    }
  )
}

/** Removes at most `limit` rows that nobody came back for and says how many it found. */
export async function deleteExpiredChallenges(
  db: Db<PasskeyTables>,
  now: Date,
  limit: number,
): Promise<number> {
  const { numDeletedRows } = await db
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', 'in', (sub) =>
      sub
        .selectFrom('passkey_challenges')
        .select('challenge_hash')
        .where('expires_at', '<=', now.toISOString())
        .limit(limit),
    )
    .executeTakeFirstOrThrow()
  return Number(numDeletedRows)
}
