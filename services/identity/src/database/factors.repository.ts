import { type Db, deleteUntil, type FromRow, fromRow, toRow } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import type { IdentityTables } from './tables.ts'

type FactorRow = IdentityTables['totp_factors']

export type TotpFactor = FromRow<FactorRow>

/** Returns whether it was stored: an active factor is never replaced. */
export async function insertPendingFactor(
  db: Db<IdentityTables>,
  factor: Pick<TotpFactor, 'userId' | 'secret' | 'createdAt'>,
): Promise<boolean> {
  const { user_id, ...columns } = toRow<FactorRow>({
    ...factor,
    state: 'pending',
    lastStep: 0,
    failures: 0,
    lockedUntil: null,
    confirmedAt: null,
    removesAt: null,
  })
  const { numInsertedOrUpdatedRows = 0n } = await db
    .insertInto('totp_factors')
    .values({ user_id, ...columns })
    .onConflict((conflict) =>
      conflict.column('user_id').doUpdateSet(columns).where('totp_factors.state', '=', 'pending'),
    )
    .executeTakeFirstOrThrow()
  return numInsertedOrUpdatedRows === 1n
}

export async function findFactor(
  db: Db<IdentityTables>,
  userId: number,
): Promise<TotpFactor | undefined> {
  const factors = db.selectFrom('totp_factors').selectAll().where('user_id', '=', userId)
  const row = await factors.executeTakeFirst()
  return row && fromRow(row)
}

/** Activates the pending factor with exactly this secret, and marks the step of the confirming code as used. */
export async function activateFactor(
  db: Db<IdentityTables>,
  { userId, secret }: Pick<TotpFactor, 'userId' | 'secret'>,
  { step, now }: { step: number; now: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_factors')
    .set({ state: 'active', last_step: step, confirmed_at: now.toISOString() })
    .where('user_id', '=', userId)
    .where('secret', '=', secret)
    .where('state', '=', 'pending')
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/**
 * Accepts the code of a step, if the factor was not locked since it was read. Every condition is part of one update,
 * so only one of any number of concurrent uses of a code, on any node, succeeds.
 */
export async function claimStep(
  db: Db<IdentityTables>,
  { userId, lockedUntil }: Pick<TotpFactor, 'userId' | 'lockedUntil'>,
  step: number,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_factors')
    .set({ last_step: step, failures: 0, locked_until: null })
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .where('last_step', '<', step)
    .where('locked_until', 'is not distinct from', lockedUntil)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Returns the number of consecutive failures. */
export async function addFactorFailure(db: Db<IdentityTables>, userId: number): Promise<number> {
  const row = await db
    .updateTable('totp_factors')
    .set(({ eb }) => ({ failures: eb('failures', '+', 1) }))
    .where('user_id', '=', userId)
    .where('state', '=', 'active')
    .returning('failures')
    .executeTakeFirst()
  return row?.failures ?? 0
}

export async function lockFactor(db: Db<IdentityTables>, userId: number, until: Date) {
  const locked_until = until.toISOString()
  await db.updateTable('totp_factors').set({ locked_until }).where('user_id', '=', userId).execute()
}

export async function scheduleRemoval(
  db: Db<IdentityTables>,
  userId: number,
  removes_at: string,
): Promise<void> {
  await db.updateTable('totp_factors').set({ removes_at }).where('user_id', '=', userId).execute()
}

export async function listDueRemovals(
  db: Db<IdentityTables>,
  now: string,
  most: number,
): Promise<number[]> {
  const rows = await db
    .selectFrom('totp_factors')
    .select('user_id')
    .where('removes_at', '<=', now)
    .orderBy('removes_at')
    .limit(most)
    .execute()
  return rows.map(({ user_id }) => user_id)
}

/** Returns whether a removal was pending. */
export async function cancelRemoval(db: Db<IdentityTables>, userId: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('totp_factors')
    .set({ removes_at: null })
    .where('user_id', '=', userId)
    .where('removes_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

/** Deletes the factor, active or pending, and its recovery codes. Returns whether there was a factor. */
export async function deleteFactor(db: Db<IdentityTables>, userId: number): Promise<boolean> {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  await deleteSteps(db, userId)
  const { numDeletedRows } = await db
    .deleteFrom('totp_factors')
    .where('user_id', '=', userId)
    .executeTakeFirstOrThrow()
  return numDeletedRows > 0n
}

export async function replaceRecoveryCodes(
  db: Db<IdentityTables>,
  userId: number,
  { hashes, now }: { hashes: string[]; now: Date },
): Promise<void> {
  await db.deleteFrom('recovery_codes').where('user_id', '=', userId).execute()
  const created_at = now.toISOString()
  const fresh = { user_id: userId, created_at, used_at: null, checked_at: null }
  const rows = hashes.map((code_hash) => ({ ...fresh, code_hash }))
  await db.insertInto('recovery_codes').values(rows).execute()
}

type CodeKey = { userId: number; codeHash: string }

/** Only one of several concurrent uses of a code succeeds. */
export function spendRecoveryCode(db: Db<IdentityTables>, code: CodeKey, now: Date) {
  return updateUnused(db, code, { used_at: now.toISOString() })
}

/** Records that the owner still has the code. It is not used up. */
export function markChecked(db: Db<IdentityTables>, code: CodeKey, now: Date) {
  return updateUnused(db, code, { checked_at: now.toISOString() })
}

/** Returns whether the code exists and is unused. */
async function updateUnused(
  db: Db<IdentityTables>,
  { userId, codeHash }: CodeKey,
  change: { used_at: string } | { checked_at: string },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('recovery_codes')
    .set(change)
    .where('user_id', '=', userId)
    .where('code_hash', '=', codeHash)
    .where('used_at', 'is', null)
    .executeTakeFirstOrThrow()
  return numUpdatedRows === 1n
}

export async function unusedRecoveryCodes(db: Db<IdentityTables>, userId: number) {
  const rows = await db
    .selectFrom('recovery_codes')
    .select(['created_at', 'used_at', 'checked_at'])
    .where('user_id', '=', userId)
    .execute()
  return {
    remaining: rows.filter(({ used_at }) => used_at === null).length,
    createdAt: rows[0]?.created_at ?? null,
    kept: rows.some(({ used_at, checked_at }) => (used_at ?? checked_at) !== null),
  }
}

type StepRow = IdentityTables['mfa_steps']

export async function insertStep(db: Db<IdentityTables>, step: FromRow<StepRow>): Promise<void> {
  await db.insertInto('mfa_steps').values(toRow<StepRow>(step)).execute()
}

/** Counts the try in the statement that finds the step, so at most `most` concurrent tries see it. */
export async function tryStep(
  db: Db<IdentityTables>,
  tokenHash: string,
  { most, now }: { most: number; now: Date },
): Promise<FromRow<StepRow> | undefined> {
  const row = await db
    .updateTable('mfa_steps')
    .set(({ eb }) => ({ tries: eb('tries', '+', 1) }))
    .where('token_hash', '=', tokenHash)
    .where('tries', '<', most)
    .where('expires_at', '>', now.toISOString())
    .returningAll()
    .executeTakeFirst()
  return row && fromRow(row)
}

export async function isStepOpen(db: Db<IdentityTables>, tokenHash: string): Promise<boolean> {
  const steps = db.selectFrom('mfa_steps').select('user_id').where('token_hash', '=', tokenHash)
  return (await steps.executeTakeFirst()) !== undefined
}

/** Only one of several concurrent sign-ins with the same step succeeds. */
export async function spendStep(db: Db<IdentityTables>, tokenHash: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('mfa_steps')
    .where('token_hash', '=', tokenHash)
    .executeTakeFirstOrThrow()
  return numDeletedRows === 1n
}

export async function deleteSteps(db: Db<IdentityTables>, userId: number): Promise<void> {
  await db.deleteFrom('mfa_steps').where('user_id', '=', userId).execute()
}

/** Deletes expired steps and enrolments that were never confirmed. */
export async function deleteUnfinished(
  db: Db<IdentityTables>,
  { now, pendingSeconds }: { now: Date; pendingSeconds: number },
  signal: AbortSignal,
): Promise<void> {
  const expired = { table: 'mfa_steps', key: 'token_hash', column: 'expires_at' }
  await deleteUntil(db, expired, now, signal)
  await db
    .deleteFrom('totp_factors')
    .where('state', '=', 'pending')
    .where('created_at', '<=', secondsAfter(now, -pendingSeconds).toISOString())
    .execute()
}
