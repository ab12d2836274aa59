import { type Db, prepared } from '@plinth/kit'
import type { NewRefund } from './provider/provider.ts'
import type { PaymentTables, RefundIntentRow, RefundIntentState } from './tables.ts'

/** A refund we decided to make, written down before the provider hears of it. */
export type RefundIntent = NewRefund & {
  paymentId: string
  reference: string
  contentHash: string
  state: RefundIntentState
  generation: number
  idempotencyKey: string
  firstSentAt: string
  refundId: string | null
}

type Key = Pick<RefundIntent, 'paymentId' | 'reference'>

const byKey = prepared((db: Db<PaymentTables>, { paymentId, reference }: Key) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference),
)

export async function findRefundIntent(
  db: Db<PaymentTables>,
  paymentId: string,
  reference: string,
): Promise<RefundIntent | undefined> {
  const [row] = await byKey(db, { paymentId, reference })
  return row && toIntent(row)
}

const unresolved = prepared((db: Db<PaymentTables>, { paymentId }: { paymentId: string }) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('state', '=', 'reserved')
    .orderBy('first_sent_at'),
)

/** The intents whose outcome is unknown. Their amounts are reserved. */
export async function listUnresolvedIntents(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<RefundIntent[]> {
  return (await unresolved(db, { paymentId })).map(toIntent)
}

/** A refused intent makes room for another under the same reference. */
export async function insertRefundIntent(
  db: Db<PaymentTables>,
  intent: RefundIntent,
): Promise<void> {
  const { payment_id, reference, ...content } = toRow(intent)
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
 * False when the intent has become something else meanwhile: linked to its refund, or taken back
 * and reserved anew by another node.
 */
export async function updateIntentState(
  db: Db<PaymentTables>,
  { paymentId, reference, generation }: RefundIntent,
  outcome: { state: RefundIntentState; refundId: string | null },
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

function toRow(intent: RefundIntent): RefundIntentRow {
  return {
    payment_id: intent.paymentId,
    reference: intent.reference,
    content_hash: intent.contentHash,
    payment_intent_id: intent.paymentIntentId,
    amount: intent.amount,
    reason: intent.reason,
    metadata: JSON.stringify(intent.metadata),
    state: intent.state,
    generation: intent.generation,
    idempotency_key: intent.idempotencyKey,
    first_sent_at: intent.firstSentAt,
    refund_id: intent.refundId,
  }
}

function toIntent(row: RefundIntentRow): RefundIntent {
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
