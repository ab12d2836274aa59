import type { Db } from '../payment/database/tables.ts'

/** When the last event arrived by each way. */
export async function findLastArrivals(db: Db): Promise<{ webhook?: string; poll?: string }> {
  const rows = await db
    .selectFrom('webhook_events')
    .select(({ fn }) => ['source', fn.max('received_at').as('last')])
    .groupBy('source')
    .execute()
  return Object.fromEntries(rows.map(({ source, last }) => [source, last]))
}
