import { engineOf, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { Db } from './tables.ts'

// Never change these numbers: two versions of the service would miss each other's locks.
const SPACES = { intent: 0, reference: 1, session: 2, refund: 3 }

const lock = prepared((db: Db, { name, space }: { name: string; space: number }) =>
  db.selectNoFrom(sql`pg_advisory_xact_lock(hashtextextended(${name}, ${space}))`.as('locked')),
)

/**
 * Held until the transaction ends. A refund may be seen before the payment of its intent is known:
 * without this lock, the refund and the session that names the intent could miss each other. So could
 * a payment being inserted and an event being parked for it, and two payments for which the provider
 * names the same session or refund. SQLite needs no lock: it has one writer at a time.
 */
export async function lockName(db: Db, kind: keyof typeof SPACES, name: string): Promise<void> {
  if (engineOf(db) === 'sqlite') return
  await lock(db, { name, space: SPACES[kind] })
}
