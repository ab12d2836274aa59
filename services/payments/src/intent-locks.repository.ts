import { type Db, engineOf } from '@plinth/kit'
import { sql } from 'kysely'
import type { PaymentTables } from './tables.ts'

/**
 * Held until the transaction ends. A refund may be seen before anybody knows whose intent it is
 * for: without this, it and the session that names the intent could miss each other. SQLite has
 * one writer at a time.
 */
export async function lockIntent(
  db: Db<PaymentTables>,
  paymentIntentId: string | null,
): Promise<void> {
  if (paymentIntentId === null || engineOf(db) === 'sqlite') return
  await sql`select pg_advisory_xact_lock(hashtextextended(${paymentIntentId}, 0))`.execute(db)
}
