import { type Db, prepared, preparedWrite } from '@plinth/kit'
import type { Refund } from './provider/provider.ts'
import type { PaymentTables, RefundRow } from './tables.ts'

const byId = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  db.selectFrom('refunds').selectAll().where('id', '=', id),
)

export async function findRefund(db: Db<PaymentTables>, id: string): Promise<Refund | undefined> {
  const [row] = await byId(db, { id })
  return row && toRefund(row)
}

const byIntent = prepared((db: Db<PaymentTables>, { intent }: { intent: string }) =>
  db
    .selectFrom('refunds')
    .select(['id', 'payment_intent_id', 'amount', 'currency', 'status', 'reason', 'metadata'])
    .where('payment_intent_id', '=', intent)
    .orderBy('created_at')
    .orderBy('id'),
)

export async function listRefundsOf(
  db: Db<PaymentTables>,
  paymentIntentIds: Set<string>,
): Promise<Refund[]> {
  const refunds: Refund[] = []
  for (const intent of paymentIntentIds)
    refunds.push(...(await byIntent(db, { intent })).map(toRefund))
  return refunds
}

const upsert = preparedWrite((db: Db<PaymentTables>, { created_at, ...refund }: RefundRow) => {
  const { id, amount, currency, ...news } = refund
  return db
    .insertInto('refunds')
    .values({ ...refund, created_at })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(news))
})

/** Writes a refund that has been joined with what was known before. */
export async function upsertRefund(
  db: Db<PaymentTables>,
  refund: Refund,
  now: Date,
): Promise<void> {
  const at = now.toISOString()
  await upsert(db, {
    id: refund.id,
    payment_intent_id: refund.paymentIntentId,
    amount: refund.amount,
    currency: refund.currency,
    status: refund.status,
    reason: refund.reason,
    metadata: JSON.stringify(refund.metadata),
    created_at: at,
    updated_at: at,
  })
}

function toRefund(row: Omit<RefundRow, 'created_at' | 'updated_at'>): Refund {
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
