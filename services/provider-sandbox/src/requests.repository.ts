import type { Db } from '@plinth/kit'
import type { RequestRow, SandboxTables } from './tables.ts'

export async function insertRequest(db: Db<SandboxTables>, request: RequestRow): Promise<void> {
  await db.insertInto('requests').values(request).execute()
}

/** Newest first. */
export async function listRequests(
  db: Db<SandboxTables>,
  filter: { limit?: number; method?: string } = {},
): Promise<RequestRow[]> {
  let query = db.selectFrom('requests').selectAll()
  if (filter.method !== undefined) query = query.where('method', '=', filter.method)
  return query
    .orderBy('seq', 'desc')
    .limit(filter.limit ?? 100)
    .execute()
}
