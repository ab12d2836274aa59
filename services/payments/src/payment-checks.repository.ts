import type { Db } from '@plinth/kit'
import type { PaymentTables } from './tables.ts'

/** When a payment is looked at again, unless something is heard of it before. */
export async function updateNextCheck(
  db: Db<PaymentTables>,
  id: string,
  check: { nextCheckAt: Date | null; checks?: number },
): Promise<void> {
  const { nextCheckAt, checks } = check
  await db
    .updateTable('payments')
    .set({
      next_check_at: nextCheckAt?.toISOString() ?? null,
      ...(checks !== undefined && { checks }),
    })
    .where('id', '=', id)
    .execute()
}

export async function listPaymentsToCheck(
  db: Db<PaymentTables>,
  now: Date,
  limit: number,
): Promise<string[]> {
  const rows = await db
    .selectFrom('payments')
    .select('id')
    .where('next_check_at', '<=', now.toISOString())
    .orderBy('next_check_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

/** After a restart: whatever was under way when the last process ended is looked at first. */
export async function updateUnresolvedToCheck(db: Db<PaymentTables>, now: Date): Promise<void> {
  const at = now.toISOString()
  const reserved = db.selectFrom('attempts').select('payment_id').where('state', '=', 'reserved')
  const intended = db
    .selectFrom('refund_intents')
    .select('payment_id')
    .where('state', '=', 'reserved')
  await db
    .updateTable('payments')
    .set({ next_check_at: at })
    .where((where) => where.or([where('id', 'in', reserved), where('id', 'in', intended)]))
    .execute()
}
