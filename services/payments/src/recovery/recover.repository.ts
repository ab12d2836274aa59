import type { Db } from '../payment/database/tables.ts'

/** After a restart: makes whatever was in flight when the last process ended due for reconciliation. */
export async function updateUnresolvedToCheck(db: Db, now: Date): Promise<void> {
  const unresolved = db
    .selectFrom('attempts')
    .select('payment_id')
    .where('state', '=', 'reserved')
    .union(db.selectFrom('refund_intents').select('payment_id').where('state', '=', 'reserved'))
  await db
    .updateTable('payments')
    .set({ next_check_at: now.toISOString() })
    .where('id', 'in', unresolved)
    .execute()
}
