import { type Db, prepared } from '@plinth/kit'
import type { NewRefund, Refund } from '../../provider/provider.ts'
import type { PaymentTables, RefundAttemptRow, RefundAttemptState, RefundRow } from './tables.ts'

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

/** A refund we decided to make, written down before the provider hears of it. */
export type RefundAttempt = NewRefund & {
  paymentId: string
  reference: string
  contentHash: string
  state: RefundAttemptState
  generation: number
  idempotencyKey: string
  firstSentAt: string
  refundId: string | null
}

type Key = Pick<RefundAttempt, 'paymentId' | 'reference'>

const byKey = prepared((db: Db<PaymentTables>, { paymentId, reference }: Key) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference),
)

export async function findRefundAttempt(
  db: Db<PaymentTables>,
  paymentId: string,
  reference: string,
): Promise<RefundAttempt | undefined> {
  const [row] = await byKey(db, { paymentId, reference })
  return row && toAttempt(row)
}

const unresolved = prepared((db: Db<PaymentTables>, { paymentId }: { paymentId: string }) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('state', '=', 'reserved')
    .orderBy('first_sent_at'),
)

/** The attempts whose outcome is unknown. Their amounts are reserved. */
export async function listUnresolvedAttempts(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<RefundAttempt[]> {
  return (await unresolved(db, { paymentId })).map(toAttempt)
}

/** A refused attempt makes room for another under the same reference. */
export async function insertRefundAttempt(
  db: Db<PaymentTables>,
  attempt: RefundAttempt,
): Promise<void> {
  const { payment_id, reference, ...content } = toRow(attempt)
  await db
    .insertInto('refund_intents')
    .values({ payment_id, reference, ...content })
    .onConflict((conflict) =>
      conflict
        .columns(['payment_id', 'reference'])
        .doUpdateSet(content)
        .where('refund_intents.state', '=', 'refused'),
    )
    .execute()
}

/**
 * False when the attempt has become something else meanwhile: linked to its refund, or taken back
 * and reserved anew by another node.
 */
export async function updateRefundAttempt(
  db: Db<PaymentTables>,
  { paymentId, reference, generation }: RefundAttempt,
  outcome: { state: RefundAttemptState; refundId: string | null },
): Promise<boolean> {
  const updated = await db
    .updateTable('refund_intents')
    .set({ state: outcome.state, refund_id: outcome.refundId })
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference)
    .where('generation', '=', generation)
    .where('state', '!=', 'linked')
    .returning('reference')
    .executeTakeFirst()
  return updated !== undefined
}

function toRow(attempt: RefundAttempt): RefundAttemptRow {
  return {
    payment_id: attempt.paymentId,
    reference: attempt.reference,
    content_hash: attempt.contentHash,
    payment_intent_id: attempt.paymentIntentId,
    amount: attempt.amount,
    reason: attempt.reason,
    metadata: JSON.stringify(attempt.metadata),
    state: attempt.state,
    generation: attempt.generation,
    idempotency_key: attempt.idempotencyKey,
    first_sent_at: attempt.firstSentAt,
    refund_id: attempt.refundId,
  }
}

function toAttempt(row: RefundAttemptRow): RefundAttempt {
  return {
    paymentId: row.payment_id,
    reference: row.reference,
    contentHash: row.content_hash,
    paymentIntentId: row.payment_intent_id,
    amount: row.amount,
    reason: row.reason,
    metadata: JSON.parse(row.metadata),
    state: row.state,
    generation: row.generation,
    idempotencyKey: row.idempotency_key,
    firstSentAt: row.first_sent_at,
    refundId: row.refund_id,
  }
}
