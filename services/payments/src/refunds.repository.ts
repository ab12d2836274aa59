import type { Db } from '@plinth/kit'
import type { Refund } from './provider/provider.ts'
import type { PaymentTables, RefundRow } from './tables.ts'

export async function findRefund(db: Db<PaymentTables>, id: string): Promise<Refund | undefined> {
  const row = await db.selectFrom('refunds').selectAll().where('id', '=', id).executeTakeFirst()
  return row && toRefund(row)
}

export async function listRefundsOf(
  db: Db<PaymentTables>,
  paymentIntentIds: string[],
): Promise<Refund[]> {
  if (paymentIntentIds.length === 0) return []
  const rows = await db
    .selectFrom('refunds')
    .selectAll()
    .where('payment_intent_id', 'in', paymentIntentIds)
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(toRefund)
}

/** Writes a refund that has been joined with what was known before. */
export async function upsertRefund(
  db: Db<PaymentTables>,
  refund: Refund,
  now: Date,
): Promise<void> {
  const at = now.toISOString()
  const { status, reason, paymentIntentId } = refund
  const metadata = JSON.stringify(refund.metadata)
  await db
    .insertInto('refunds')
    .values({
      id: refund.id,
      payment_intent_id: paymentIntentId,
      amount: refund.amount,
      currency: refund.currency,
      status,
      reason,
      metadata,
      created_at: at,
      updated_at: at,
    })
    .onConflict((conflict) =>
      conflict.column('id').doUpdateSet({
        payment_intent_id: paymentIntentId,
        status,
        reason,
        metadata,
        updated_at: at,
      }),
    )
    .execute()
}

function toRefund(row: RefundRow): Refund {
  return {
    id: row.id,
    paymentIntentId: row.payment_intent_id,
    amount: row.amount,
    currency: row.currency,
    status: row.status,
    reason: row.reason,
    metadata: JSON.parse(row.metadata),
  }
}
