import type { NotNull } from 'kysely'
import type { SandboxDb } from '../state/tables.ts'

type KeptAnswer = { fingerprint: string; status: number; body: string; request_id: string }

/** False when another call has stored an answer under the key that is still valid at `now`. */
export async function insertKey(
  db: SandboxDb,
  key: string,
  answer: KeptAnswer & { expires_at: string },
  now: Date,
): Promise<boolean> {
  const inserted = await db
    .insertInto('idempotency_keys')
    .values({ key, ...answer })
    .onConflict((conflict) =>
      conflict
        .column('key')
        .doUpdateSet(answer)
        .where((eb) =>
          eb.or([eb('expires_at', '<=', now.toISOString()), eb('status', 'is', null)]),
        ),
    )
    .returning('key')
    .executeTakeFirst()
  return inserted !== undefined
}

/** In version 1.0 a row without a status was a call in progress. Such rows are ignored. */
export async function findKey(db: SandboxDb, key: string, now: Date) {
  return db
    .selectFrom('idempotency_keys')
    .selectAll()
    .where('key', '=', key)
    .where('expires_at', '>', now.toISOString())
    .where('status', 'is not', null)
    .$narrowType<{ status: NotNull; body: NotNull }>()
    .executeTakeFirst()
}

export async function deleteKeys(db: SandboxDb): Promise<void> {
  await db.deleteFrom('idempotency_keys').execute()
}
