import type { Db } from '@plinth/kit'
import type { IdentityTables } from './tables.ts'

type Challenge = {
  challengeHash: string
  ceremony: string
  userId: number | null
  expiresAt: Date
}

export async function insertChallenge(db: Db<IdentityTables>, challenge: Challenge): Promise<void> {
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

/** Deletes a challenge and returns what it was for; only one caller gets it. */
export async function spendChallenge(
  db: Db<IdentityTables>,
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

/** Removes at most `limit` expired rows and returns how many. */
export async function deleteExpiredChallenges(
  db: Db<IdentityTables>,
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
