import type { Db } from '@plinth/kit'
import type { IdempotencyRow, SandboxTables } from '../state/tables.ts'

/** Takes a key nobody holds, or one that has expired. One statement, so one winner. */
export async function claimKey(
  db: Db<SandboxTables>,
  claim: { key: string; fingerprint: string; expiresAt: Date; requestId: string; now: Date },
): Promise<boolean> {
  const fresh = {
    fingerprint: claim.fingerprint,
    expires_at: claim.expiresAt.toISOString(),
    status: null,
    body: null,
    request_id: claim.requestId,
  }
  const row = await db
    .insertInto('idempotency_keys')
    .values({ key: claim.key, ...fresh })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet(fresh)
        .where('idempotency_keys.expires_at', '<=', claim.now.toISOString()),
    )
    .returning('key')
    .executeTakeFirst()
  return row !== undefined
}

export async function findKey(
  db: Db<SandboxTables>,
  key: string,
): Promise<IdempotencyRow | undefined> {
  return db.selectFrom('idempotency_keys').selectAll().where('key', '=', key).executeTakeFirst()
}

export async function updateKey(
  db: Db<SandboxTables>,
  key: string,
  answer: { status: number; body: string },
): Promise<void> {
  const { status, body } = answer
  await db.updateTable('idempotency_keys').set({ status, body }).where('key', '=', key).execute()
}

export async function deleteKey(db: Db<SandboxTables>, key: string): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('key', '=', key).execute()
}

/** Keys whose call never ended, because the process did. */
export async function deleteUnfinishedKeys(db: Db<SandboxTables>): Promise<void> {
  await db.deleteFrom('idempotency_keys').where('status', 'is', null).execute()
}

export async function deleteKeys(db: Db<SandboxTables>): Promise<void> {
  await db.deleteFrom('idempotency_keys').execute()
}
