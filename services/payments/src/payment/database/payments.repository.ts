import {
  engineOf,
  type FromRow,
  forUpdate,
  fromRow,
  type PageRequest,
  prepared,
  selectPage,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import type { Anomaly, Derived } from '../state.ts'
import type { Db, PaymentRow } from './tables.ts'

/** The payment's identity and the cached projection derived for it. */
export type Payment = Omit<FromRow<PaymentRow>, 'anomalies'> & Pick<Derived, 'anomalies'>

export type NewPayment = Pick<
  Payment,
  'id' | 'businessReference' | 'providerCustomerId' | 'amount' | 'currency' | 'createdAt'
>

/** False when the business reference is taken: of concurrent requests exactly one inserts. */
export async function insertPayment(db: Db, payment: NewPayment): Promise<boolean> {
  const row = toRow<PaymentRow>({
    ...payment,
    status: 'PENDING',
    checkoutStatus: null,
    refundedAmount: 0,
    sessionId: null,
    paymentIntentId: null,
    attemptReference: null,
    anomalies: '',
    updatedAt: payment.createdAt,
    nextCheckAt: null,
    checks: 0,
  })
  const inserted = await db
    .insertInto('payments')
    .values(row)
    .onConflict((conflict) => conflict.column('business_reference').doNothing())
    .returning('id')
    .executeTakeFirst()
  return inserted !== undefined
}

const byId = prepared((db: Db, { id }: { id: string }) =>
  db.selectFrom('payments').selectAll().where('id', '=', id),
)

export async function findPayment(db: Db, id: string): Promise<Payment | undefined> {
  const [row] = await byId(db, { id })
  return row && toPayment(row)
}

const shownById = prepared((db: Db, { id }: { id: string }) =>
  db
    .selectFrom('payments')
    .select(['id', 'business_reference as businessReference'])
    .select(['provider_customer_id as providerCustomerId'])
    .select(['session_id as providerCheckoutSessionId'])
    .select(['payment_intent_id as providerPaymentIntentId'])
    .select(['attempt_reference as checkoutAttemptReference', 'checkout_status as checkoutStatus'])
    .select(['amount', 'refunded_amount as refundedAmount', 'currency', 'status'])
    .select(['created_at as createdAt', 'updated_at as updatedAt'])
    .where('id', '=', id),
)

/** A payment as callers see it. This is the most frequent read, so the database names the members. */
export async function findShownPayment(db: Db, id: string) {
  const [shown] = await shownById(db, { id })
  return shown
}

const byIdForUpdate = prepared((db: Db, { id }: { id: string }) =>
  forUpdate(db, db.selectFrom('payments').selectAll().where('id', '=', id)),
)

/** Also takes the row lock, which always comes before locks on any other row of the payment. */
export async function findPaymentForUpdate(db: Db, id: string): Promise<Payment | undefined> {
  const [row] = await byIdForUpdate(db, { id })
  return row && toPayment(row)
}

const byReference = prepared((db: Db, { reference }: { reference: string }) =>
  db.selectFrom('payments').selectAll().where('business_reference', '=', reference),
)

export async function findPaymentByReference(
  db: Db,
  reference: string,
): Promise<Payment | undefined> {
  const [row] = await byReference(db, { reference })
  return row && toPayment(row)
}

const DERIVED = [
  'provider_customer_id',
  'status',
  'checkout_status',
  'refunded_amount',
  'session_id',
  'payment_intent_id',
  'attempt_reference',
  'anomalies',
  'updated_at',
  'next_check_at',
  'checks',
] as const

const update = prepared((db: Db, payment: FromRow<PaymentRow>) => {
  const row = toRow<PaymentRow>(payment)
  const derived = Object.fromEntries(DERIVED.map((column) => [column, row[column]]))
  return db.updateTable('payments').set(derived).where('id', '=', row.id)
})

/** On PostgreSQL several upserts become one statement without a join; on SQLite one would check every index. */
const upsert = prepared((db: Db, payment: FromRow<PaymentRow>) =>
  db
    .insertInto('payments')
    .values(toRow<PaymentRow>(payment))
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet(({ ref }) =>
          Object.fromEntries(DERIVED.map((column) => [column, ref(`excluded.${column}`)])),
        ),
    ),
)

/** The caller holds the payment's lock, so the row exists. */
export async function updateProjection(db: Db, payment: Payment, now: Date): Promise<void> {
  const anomalies = payment.anomalies.join(',')
  const save = engineOf(db) === 'postgres' ? upsert : update
  await save(db, { ...payment, anomalies, updatedAt: now.toISOString() })
}

export async function deletePayment(db: Db, id: string): Promise<void> {
  await db.deleteFrom('payments').where('id', '=', id).execute()
}

export const PAYMENT_SORTS = ['createdAt', 'updatedAt', 'amount', 'status', 'businessReference']

export async function listPayments(
  db: Db,
  { businessReference }: { businessReference?: string },
  page: PageRequest,
): Promise<{ payments: Payment[]; total: number }> {
  let query = db.selectFrom('payments')
  if (businessReference) query = query.where('business_reference', '=', businessReference)
  const { rows, total } = await selectPage(query, page, (found) =>
    sortRows(found, page.sort).orderBy('created_at', 'desc').orderBy('id'),
  )
  return { payments: rows.map(toPayment), total }
}

function toPayment({ anomalies, ...row }: PaymentRow): Payment {
  return { ...fromRow(row), anomalies: anomalies.split(',').filter(Boolean) as Anomaly[] }
}

type NextCheckRow = Pick<PaymentRow, 'id' | 'next_check_at' | 'checks'>

const updateCheck = prepared((db: Db, { id, ...next }: NextCheckRow) =>
  db.updateTable('payments').set(next).where('id', '=', id),
)

/** Sets when the payment is reconciled next, unless an observation changes that first. */
export async function updateNextCheck(
  db: Db,
  id: string,
  { nextCheckAt, checks }: { nextCheckAt: Date | null; checks: number },
): Promise<void> {
  await updateCheck(db, { id, next_check_at: nextCheckAt?.toISOString() ?? null, checks })
}

export async function listPaymentsToCheck(db: Db, now: Date, limit: number): Promise<string[]> {
  const rows = await db
    .selectFrom('payments')
    .select('id')
    .where('next_check_at', '<=', now.toISOString())
    .orderBy('next_check_at')
    .limit(limit)
    .execute()
  return rows.map(({ id }) => id)
}

export async function countPaymentsToCheck(db: Db): Promise<number> {
  const { total } = await db
    .selectFrom('payments')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('next_check_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return total
}

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

const retryFailed = prepared((db: Db, { id, now }: { id: string; now: string }) =>
  db
    .updateTable('webhook_events')
    .set({ next_try_at: now })
    .where('next_try_at', '>', now)
    .where('payment_id', '=', id),
)

/** The payment has changed: events that failed before may succeed now. */
export async function updateFailedToRetry(db: Db, paymentId: string, now: Date): Promise<void> {
  await retryFailed(db, { id: paymentId, now: now.toISOString() })
}
