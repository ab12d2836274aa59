import type { SandboxDb } from '../state/tables.ts'

export type LoggedRequest = {
  id: string
  at: string
  method: string
  path: string
  idempotencyKey: string | null
  /** 0 when the connection was broken instead of answered. */
  status: number
  replayed: boolean
  fault: string | null
}

const MAX_KEPT = 10_000
const PRUNED_EVERY = 1000

/** Keeps the newest requests. */
export async function insertRequest(db: SandboxDb, request: LoggedRequest): Promise<void> {
  const { idempotencyKey, replayed, ...rest } = request
  const { seq } = await db
    .insertInto('requests')
    .values({ ...rest, idempotency_key: idempotencyKey, replayed: Number(replayed) })
    .returning('seq')
    .executeTakeFirstOrThrow()
  if (seq % PRUNED_EVERY === 0)
    await db
      .deleteFrom('requests')
      .where('seq', '<=', seq - MAX_KEPT)
      .execute()
}

/** Newest first. */
export async function listRequests(db: SandboxDb, limit: number): Promise<LoggedRequest[]> {
  const rows = await db
    .selectFrom('requests')
    .select(['id', 'at', 'method', 'path', 'idempotency_key as idempotencyKey'])
    .select(['status', 'replayed', 'fault'])
    .orderBy('seq', 'desc')
    .limit(limit)
    .execute()
  return rows.map((row) => ({ ...row, replayed: row.replayed === 1 }))
}
