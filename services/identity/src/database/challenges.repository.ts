import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import type { IdentityTables } from './tables.ts'

type ChallengeRow = IdentityTables['passkey_challenges']

type Challenge = Omit<FromRow<ChallengeRow>, 'expiresAt'> & { expiresAt: Date }

export async function insertChallenge(db: Db<IdentityTables>, challenge: Challenge): Promise<void> {
  const expiresAt = challenge.expiresAt.toISOString()
  const row = toRow<ChallengeRow>({ ...challenge, expiresAt })
  await db.insertInto('passkey_challenges').values(row).execute()
}

/** Deletes a challenge and returns it; only one caller gets it. */
export async function spendChallenge(
  db: Db<IdentityTables>,
  challengeHash: string,
): Promise<Challenge | undefined> {
  const row = await db
    .deleteFrom('passkey_challenges')
    .where('challenge_hash', '=', challengeHash)
    .returningAll()
    .executeTakeFirst()
  return row && { ...fromRow(row), expiresAt: new Date(row.expires_at) }
}

export function deleteExpiredChallenges(db: Db<IdentityTables>, now: Date, signal: AbortSignal) {
  const expired = { table: 'passkey_challenges', key: 'challenge_hash', column: 'expires_at' }
  return deleteUntil(db, expired, now, signal)
}
