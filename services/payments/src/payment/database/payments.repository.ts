import { type Db, forUpdate, type PageRequest, prepared } from '@plinth/kit'
import type { Anomaly, Derived } from '../state.ts'
import type { PaymentRow, PaymentTables } from './tables.ts'

/** The derived projection, cached, with what identifies the payment. */
export type Payment = Derived & {
  id: string
  businessReference: string
  providerCustomerId: string | null
  amount: number
  currency: string
  createdAt: string
  updatedAt: string
  nextCheckAt: string | null
  checks: number
}

export type NewPayment = Pick<
  Payment,
  'id' | 'businessReference' | 'providerCustomerId' | 'amount' | 'currency' | 'createdAt'
>

/** False when the business reference is taken: of racing requests exactly one inserts. */
export async function insertPayment(db: Db<PaymentTables>, payment: NewPayment): Promise<boolean> {
  const inserted = await db
    .insertInto('payments')
    .values({
      id: payment.id,
      business_reference: payment.businessReference,
      provider_customer_id: payment.providerCustomerId,
      amount: payment.amount,
      currency: payment.currency,
      status: 'PENDING',
      refunded_amount: 0,
      anomalies: '',
      created_at: payment.createdAt,
      updated_at: payment.createdAt,
      checks: 0,
    })
    .onConflict((conflict) => conflict.column('business_reference').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

const byId = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  db.selectFrom('payments').selectAll().where('id', '=', id),
)

/** The most frequent read of all. */
export async function findPayment(db: Db<PaymentTables>, id: string): Promise<Payment | undefined> {
  const [row] = await byId(db, { id })
  return row && toPayment(row)
}

const byIdForUpdate = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  forUpdate(db, db.selectFrom('payments').selectAll().where('id', '=', id)),
)

/** Also takes the row's lock, which is always the first lock taken on anything of a payment. */
export async function findPaymentForUpdate(
  db: Db<PaymentTables>,
  id: string,
): Promise<Payment | undefined> {
  const [row] = await byIdForUpdate(db, { id })
  return row && toPayment(row)
}

const byReference = prepared((db: Db<PaymentTables>, { reference }: { reference: string }) =>
  db.selectFrom('payments').selectAll().where('business_reference', '=', reference),
)

export async function findPaymentByReference(
  db: Db<PaymentTables>,
  businessReference: string,
): Promise<Payment | undefined> {
  const [row] = await byReference(db, { reference: businessReference })
  return row && toPayment(row)
}

type ProjectionRow = Omit<PaymentRow, FixedColumn>

type FixedColumn = 'business_reference' | 'amount' | 'currency' | 'created_at'

const update = prepared((db: Db<PaymentTables>, { id, ...projection }: ProjectionRow) =>
  db.updateTable('payments').set(projection).where('id', '=', id),
)

export async function updateProjection(
  db: Db<PaymentTables>,
  payment: Payment,
  now: Date,
): Promise<void> {
  await update(db, {
    id: payment.id,
    provider_customer_id: payment.providerCustomerId,
    status: payment.status,
    checkout_status: payment.checkoutStatus,
    refunded_amount: payment.refundedAmount,
    session_id: payment.sessionId,
    payment_intent_id: payment.paymentIntentId,
    attempt_reference: payment.attemptReference,
    anomalies: payment.anomalies.join(','),
    updated_at: now.toISOString(),
    next_check_at: payment.nextCheckAt,
    checks: payment.checks,
  })
}

export async function deletePayment(db: Db<PaymentTables>, id: string): Promise<void> {
  await db.deleteFrom('payments').where('id', '=', id).execute()
}

const SORT_COLUMNS = {
  createdAt: 'created_at',
  updatedAt: 'updated_at',
  amount: 'amount',
  status: 'status',
  businessReference: 'business_reference',
} as const

export const PAYMENT_SORTS = Object.keys(SORT_COLUMNS)

type Filter = { businessReference?: string }

export async function listPayments(
  db: Db<PaymentTables>,
  { businessReference }: Filter,
  page: PageRequest,
): Promise<{ payments: Payment[]; total: number }> {
  let query = db.selectFrom('payments')
  if (businessReference) query = query.where('business_reference', '=', businessReference)
  const { total } = await query
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()

  let rows = query.selectAll()
  for (const { property, direction } of page.sort)
    rows = rows.orderBy(SORT_COLUMNS[property as keyof typeof SORT_COLUMNS], direction)
  rows = rows.orderBy('created_at', 'desc').orderBy('id')
  const found = await rows.limit(page.size).offset(page.offset).execute()
  return { payments: found.map(toPayment), total }
}

function toPayment(row: PaymentRow): Payment {
  return {
    id: row.id,
    businessReference: row.business_reference,
    providerCustomerId: row.provider_customer_id,
    amount: row.amount,
    currency: row.currency,
    status: row.status,
    checkoutStatus: row.checkout_status,
    refundedAmount: row.refunded_amount,
    sessionId: row.session_id,
    paymentIntentId: row.payment_intent_id,
    attemptReference: row.attempt_reference,
    anomalies: row.anomalies.split(',').filter(Boolean) as Anomaly[],
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    nextCheckAt: row.next_check_at,
    checks: row.checks,
  }
}

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

/** Something about the payment has changed: what failed before may succeed now. */
export async function updateFailedToRetry(
  db: Db<PaymentTables>,
  paymentId: string,
  now: Date,
): Promise<void> {
  await db
    .updateTable('webhook_events')
    .set({ next_try_at: now.toISOString() })
    .where('next_try_at', '>', now.toISOString())
    .where('payment_id', '=', paymentId)
    .execute()
}
