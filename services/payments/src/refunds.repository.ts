import { type Db, prepared } from '@plinth/kit'
import type { Refund } from './provider/provider.ts'
import type { PaymentTables, RefundRow } from './tables.ts'

const byId = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  db.selectFrom('refunds').selectAll().where('id', '=', id),
)

export async function findRefund(db: Db<PaymentTables>, id: string): Promise<Refund | undefined> {
  const [row] = await byId(db, { id })
  return row && toRefund(row)
}

const byPayment = prepared((db: Db<PaymentTables>, { paymentId }: { paymentId: string }) => {
  const intents = db
    .selectFrom('attempts')
    .select('payment_intent_id')
    .where('payment_id', '=', paymentId)
  return db
    .selectFrom('refunds')
    .selectAll()
    .where('payment_intent_id', 'in', intents)
    .orderBy('created_at')
    .orderBy('id')
})

/** The refunds of every intent that the payment has. */
export async function listRefundsOf(db: Db<PaymentTables>, paymentId: string): Promise<Refund[]> {
  return (await byPayment(db, { paymentId })).map(toRefund)
}

const upsert = prepared((db: Db<PaymentTables>, { created_at, ...refund }: RefundRow) => {
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
