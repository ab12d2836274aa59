import type { Db } from '@plinth/kit'
import type { SandboxTables } from '../state/tables.ts'

export type KeptAnswer = {
  key: string
  fingerprint: string
  requestId: string
  expiresAt: Date
  status: number
  body: string
}

/** False when another call has kept an answer under the key that is still good at `now`. */
export async function insertKey(
  db: Db<SandboxTables>,
  { key, ...kept }: KeptAnswer,
  now: Date,
): Promise<boolean> {
  const row = {
    fingerprint: kept.fingerprint,
    expires_at: kept.expiresAt.toISOString(),
    status: kept.status,
    body: kept.body,
    request_id: kept.requestId,
  }
  const inserted = await db
    .insertInto('idempotency_keys')
    .values({ key, ...row })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet(row)
        .where((eb) =>
          eb.or([
            eb('idempotency_keys.expires_at', '<=', now.toISOString()),
            eb('idempotency_keys.status', 'is', null),
          ]),
        ),
    )
    .returning('key')
    .executeTakeFirst()
  return inserted !== undefined
}

/** Up to version 1.0 a row without a status was a call under way; one that is left means nothing. */
export async function findKey(
  db: Db<SandboxTables>,
  key: string,
  now: Date,
): Promise<Omit<KeptAnswer, 'key' | 'expiresAt'> | undefined> {
  return db
    .selectFrom('idempotency_keys')
    .select(['fingerprint', 'request_id as requestId'])
    .select((eb) => [
      eb.ref('status').$notNull().as('status'),
      eb.ref('body').$notNull().as('body'),
    ])
    .where('key', '=', key)
    .where('expires_at', '>', now.toISOString())
    .where('status', 'is not', null)
    .executeTakeFirst()
}

export async function deleteKeys(db: Db<SandboxTables>): Promise<void> {
  await db.deleteFrom('idempotency_keys').execute()
}
