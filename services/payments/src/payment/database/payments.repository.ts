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
import { type RawBuilder, sql } from 'kysely'
import type { Anomaly, Derived, PaymentStatus } from '../state.ts'
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

/** A payment as callers see it: each member and its column. */
const SHOWN = {
  id: 'id',
  businessReference: 'business_reference',
  providerCustomerId: 'provider_customer_id',
  providerCheckoutSessionId: 'session_id',
  providerPaymentIntentId: 'payment_intent_id',
  checkoutAttemptReference: 'attempt_reference',
  checkoutStatus: 'checkout_status',
  amount: 'amount',
  refundedAmount: 'refunded_amount',
  currency: 'currency',
  status: 'status',
  createdAt: 'created_at',
  updatedAt: 'updated_at',
} as const satisfies Record<string, keyof PaymentRow>

type ShownPayment = { [Name in keyof typeof SHOWN]: PaymentRow[(typeof SHOWN)[Name]] }

const shownById = prepared((db: Db, { id }: { id: string }) =>
  db
    .selectFrom('payments')
    .select(({ ref }) => Object.entries(SHOWN).map(([name, column]) => ref(column).as(name)))
    .$castTo<ShownPayment>()
    .where('id', '=', id),
)

/** This is the most frequent read, so the database names the members. */
export async function findShownPayment(db: Db, id: string): Promise<ShownPayment | undefined> {
  const [shown] = await shownById(db, { id })
  return shown
}

function toShown(row: PaymentRow): ShownPayment {
  const entries = Object.entries(SHOWN).map(([name, column]) => [name, row[column]])
  return Object.fromEntries(entries) as ShownPayment
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

export type PaymentFilter = {
  businessReference?: string | undefined
  /** The reference, or a part of one of the newest payments, in any case. */
  contains?: string | undefined
  status?: PaymentStatus | undefined
  createdFrom?: string | undefined
  createdTo?: string | undefined
  amountFrom?: number | undefined
  amountTo?: number | undefined
}

/** So many references are looked through for a part: an index of parts would slow down every write. */
const MAX_SEARCHED = 10_000

export async function listShownPayments(
  db: Db,
  filter: PaymentFilter,
  page: PageRequest,
): Promise<{ payments: (ShownPayment & Pick<Payment, 'anomalies'>)[]; total: number }> {
  const { businessReference, contains, status, createdFrom, createdTo } = filter
  const { amountFrom, amountTo } = filter
  let query = db.selectFrom('payments')
  if (businessReference) query = query.where('business_reference', '=', businessReference)
  if (contains) query = query.where('id', 'in', idsContaining(db, contains))
  if (status) query = query.where('status', '=', status)
  if (createdFrom) query = query.where('created_at', '>=', createdFrom)
  if (createdTo) query = query.where('created_at', '<', createdTo)
  if (amountFrom !== undefined) query = query.where('amount', '>=', amountFrom)
  if (amountTo !== undefined) query = query.where('amount', '<=', amountTo)
  const { rows, total } = await selectPage(query, page, (found) =>
    sortRows(found, page.sort).orderBy('created_at', 'desc').orderBy('id'),
  )
  const payments = rows.map((row) => ({ ...toShown(row), anomalies: anomaliesOf(row) }))
  return { payments, total }
}

function idsContaining(db: Db, text: string) {
  const newest = db
    .selectFrom('payments')
    .select(['id', 'business_reference'])
    .orderBy('created_at', 'desc')
    .limit(MAX_SEARCHED)
  const place = sql.raw(engineOf(db) === 'postgres' ? 'strpos' : 'instr')
  const holds = (reference: RawBuilder<string>, part: string) =>
    sql<boolean>`${place}(${reference}, ${part}) > 0`
  return db
    .selectFrom(newest.as('newest'))
    .select('id')
    .where(({ or }) =>
      or([
        holds(sql`business_reference`, text),
        holds(sql`lower(business_reference)`, text.toLowerCase()),
      ]),
    )
    .union(db.selectFrom('payments').select('id').where('business_reference', '=', text))
}

function toPayment({ anomalies, ...row }: PaymentRow): Payment {
  return { ...fromRow(row), anomalies: anomaliesOf({ anomalies }) }
}

function anomaliesOf({ anomalies }: Pick<PaymentRow, 'anomalies'>): Anomaly[] {
  return anomalies.split(',').filter(Boolean) as Anomaly[]
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
