import type { Db } from '@plinth/kit'
import type { RequestRow, SandboxTables } from '../tables.ts'

const MOST_KEPT = 10_000
const TIDIED_EVERY = 1000

/** Keeps the newest requests; the others are tidied away from time to time. */
export async function insertRequest(db: Db<SandboxTables>, request: RequestRow): Promise<void> {
  const { seq } = await db
    .insertInto('requests')
    .values(request)
    .returning('seq')
    .executeTakeFirstOrThrow()
  if (seq % TIDIED_EVERY === 0)
    await db
      .deleteFrom('requests')
      .where('seq', '<=', seq - MOST_KEPT)
      .execute()
}

/** Newest first. */
export async function listRequests(db: Db<SandboxTables>, limit: number): Promise<RequestRow[]> {
  return db.selectFrom('requests').selectAll().orderBy('seq', 'desc').limit(limit).execute()
}
