import { type FromRow, fromRow, prepared, toRow } from '@plinth/kit'
import type { Metadata, Refund } from '../../provider/provider.ts'
import type { PaymentDb, RefundAttemptRow, RefundRow } from './tables.ts'

const byId = prepared((db: PaymentDb, { id }: { id: string }) =>
  db.selectFrom('refunds').selectAll().where('id', '=', id),
)

export async function findRefund(db: PaymentDb, id: string): Promise<Refund | undefined> {
  const [row] = await byId(db, { id })
  return row && toRefund(row)
}

const byIntent = prepared((db: PaymentDb, { intent }: { intent: string }) =>
  db
    .selectFrom('refunds')
    .selectAll()
    .where('payment_intent_id', '=', intent)
    .orderBy('created_at')
    .orderBy('id'),
)

export async function listRefundsOf(
  db: PaymentDb,
  paymentIntentIds: Set<string>,
): Promise<Refund[]> {
  const refunds: Refund[] = []
  for (const intent of paymentIntentIds)
    refunds.push(...(await byIntent(db, { intent })).map(toRefund))
  return refunds
}

const upsert = prepared((db: PaymentDb, { created_at, ...refund }: RefundRow) => {
  const { id, amount, currency, ...news } = refund
  return db
    .insertInto('refunds')
    .values({ ...refund, created_at })
    .onConflict((conflict) => conflict.column('id').doUpdateSet(news))
})

/** Writes a refund that has been joined with what was known before. */
export async function upsertRefund(db: PaymentDb, refund: Refund, now: Date): Promise<void> {
  const at = now.toISOString()
  const metadata = JSON.stringify(refund.metadata)
  await upsert(db, toRow<RefundRow>({ ...refund, metadata, createdAt: at, updatedAt: at }))
}

function toRefund({ metadata, created_at, updated_at, ...row }: RefundRow): Refund {
  return { ...fromRow(row), metadata: JSON.parse(metadata) }
}

/** A refund we decided to make, committed before the provider hears of it. */
export type RefundAttempt = Omit<FromRow<RefundAttemptRow>, 'metadata'> & { metadata: Metadata }

type Key = Pick<RefundAttempt, 'paymentId' | 'reference'>

const byKey = prepared((db: PaymentDb, { paymentId, reference }: Key) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference),
)

export async function findRefundAttempt(
  db: PaymentDb,
  paymentId: string,
  reference: string,
): Promise<RefundAttempt | undefined> {
  const [row] = await byKey(db, { paymentId, reference })
  return row && toAttempt(row)
}

const unresolved = prepared((db: PaymentDb, { paymentId }: { paymentId: string }) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('state', '=', 'reserved')
    .orderBy('first_sent_at'),
)

/** The attempts whose outcome is unknown. Their amounts are reserved. */
export async function listUnresolvedAttempts(
  db: PaymentDb,
  paymentId: string,
): Promise<RefundAttempt[]> {
  return (await unresolved(db, { paymentId })).map(toAttempt)
}

/** A refused attempt makes room for another under the same reference. */
export async function insertRefundAttempt(db: PaymentDb, attempt: RefundAttempt): Promise<void> {
  const metadata = JSON.stringify(attempt.metadata)
  const row = toRow<RefundAttemptRow>({ ...attempt, metadata })
  const { payment_id, reference, ...content } = row
  await db
    .insertInto('refund_intents')
    .values(row)
    .onConflict((conflict) =>
      conflict
        .columns(['payment_id', 'reference'])
        .doUpdateSet(content)
        .where('refund_intents.state', '=', 'refused'),
    )
    .execute()
}

/**
 * False when the attempt has become something else meanwhile: linked to its refund, or withdrawn
 * and reserved anew by another node.
 */
export async function updateRefundAttempt(
  db: PaymentDb,
  { paymentId, reference, generation }: RefundAttempt,
  { state, refundId }: Pick<RefundAttempt, 'state' | 'refundId'>,
): Promise<boolean> {
  const updated = await db
    .updateTable('refund_intents')
    .set({ state, refund_id: refundId })
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference)
    .where('generation', '=', generation)
    .where('state', '!=', 'linked')
    .returning('reference')
    .executeTakeFirst()
  return updated !== undefined
}

function toAttempt({ metadata, ...row }: RefundAttemptRow): RefundAttempt {
  return { ...fromRow(row), metadata: JSON.parse(metadata) }
}
