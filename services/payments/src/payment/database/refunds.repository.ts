import { type FromRow, fromRow, prepared, toRow } from '@plinth/kit/database'
import type { Metadata, Refund } from '../../provider/provider.ts'
import type { Db, RefundAttemptRow, RefundRow } from './tables.ts'

const byId = prepared((db: Db, { id }: { id: string }) =>
  db.selectFrom('refunds').selectAll().where('id', '=', id),
)

export async function findRefund(db: Db, id: string): Promise<Refund | undefined> {
  const [row] = await byId(db, { id })
  return row && toRefund(row)
}

/** What a payment's record holds of a refund. */
export type CountedRefund = Pick<Refund, 'id' | 'paymentIntentId' | 'amount' | 'status' | 'reason'>

const COUNTED = [
  'id',
  'payment_intent_id as paymentIntentId',
  'amount',
  'status',
  'reason',
] as const

const byIntent = prepared((db: Db, { intent }: { intent: string }) =>
  db
    .selectFrom('refunds')
    .select(COUNTED)
    .where('payment_intent_id', '=', intent)
    .orderBy('created_at')
    .orderBy('id'),
)

export async function listRefundsOf(db: Db, intents: Iterable<string>): Promise<CountedRefund[]> {
  const found = await Promise.all(Array.from(intents, (intent) => byIntent(db, { intent })))
  return found.flat()
}

// A union, because with `or` PostgreSQL scans the whole table while it is small.
const byIntentOrId = prepared((db: Db, { intent, id }: { intent: string; id: string }) =>
  db
    .selectFrom('refunds')
    .select(COUNTED)
    .where('payment_intent_id', '=', intent)
    .unionAll(
      db
        .selectFrom('refunds')
        .select(COUNTED)
        .where('id', '=', id)
        .where('payment_intent_id', 'is distinct from', intent),
    ),
)

/** The refunds of an intent, and the refund `soughtId` whatever its intent. */
export function listRefundsIncluding(
  db: Db,
  intent: string,
  soughtId: string,
): Promise<CountedRefund[]> {
  return byIntentOrId(db, { intent, id: soughtId })
}

const rowsByIntent = prepared((db: Db, { intent }: { intent: string }) =>
  db.selectFrom('refunds').selectAll().where('payment_intent_id', '=', intent).orderBy('id'),
)

/** The refund of an intent that carries our reference in its metadata. */
export async function findRefundByReference(
  db: Db,
  intent: string,
  reference: string,
): Promise<Refund | undefined> {
  const refunds = (await rowsByIntent(db, { intent })).map(toRefund)
  return refunds.find(({ metadata }) => metadata.refundReference === reference)
}

const UPDATED = ['payment_intent_id', 'status', 'reason', 'metadata', 'updated_at'] as const

const upsert = prepared((db: Db, refund: FromRow<RefundRow>) =>
  db
    .insertInto('refunds')
    .values(toRow<RefundRow>(refund))
    .onConflict((conflict) =>
      conflict
        .column('id')
        .doUpdateSet(({ ref }) =>
          Object.fromEntries(UPDATED.map((column) => [column, ref(`excluded.${column}`)])),
        ),
    ),
)

export async function upsertRefund(db: Db, refund: Refund, now: Date): Promise<void> {
  const at = now.toISOString()
  const metadata = JSON.stringify(refund.metadata)
  await upsert(db, { ...refund, metadata, createdAt: at, updatedAt: at })
}

function toRefund({ metadata, created_at, updated_at, ...row }: RefundRow): Refund {
  return { ...fromRow(row), metadata: JSON.parse(metadata) }
}

/** A refund we decided to make, committed before the provider is called. */
export type RefundAttempt = Omit<FromRow<RefundAttemptRow>, 'metadata'> & { metadata: Metadata }

const byReference = prepared(
  (db: Db, { paymentId, reference }: { paymentId: string; reference: string }) =>
    db
      .selectFrom('refund_intents')
      .selectAll()
      .where('payment_id', '=', paymentId)
      .where('reference', '=', reference),
)

export async function findRefundAttempt(
  db: Db,
  paymentId: string,
  reference: string,
): Promise<RefundAttempt | undefined> {
  const [row] = await byReference(db, { paymentId, reference })
  return row && toAttempt(row)
}

const unresolved = prepared((db: Db, { paymentId }: { paymentId: string }) =>
  db
    .selectFrom('refund_intents')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .where('state', '=', 'reserved')
    .orderBy('first_sent_at'),
)

/** The attempts whose outcome is unknown. Their amounts are reserved. */
export async function listUnresolvedAttempts(db: Db, paymentId: string): Promise<RefundAttempt[]> {
  return (await unresolved(db, { paymentId })).map(toAttempt)
}

/** Replaces a refused attempt with the same reference. */
export async function insertRefundAttempt(db: Db, attempt: RefundAttempt): Promise<void> {
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
 * Marks exactly this attempt as refused. False when it has changed meanwhile: linked to its refund, or
 * withdrawn and reserved again by another node.
 */
export async function updateToRefused(
  db: Db,
  { paymentId, reference, idempotencyKey, firstSentAt }: RefundAttempt,
): Promise<boolean> {
  const updated = await db
    .updateTable('refund_intents')
    .set({ state: 'refused', refund_id: null })
    .where('payment_id', '=', paymentId)
    .where('reference', '=', reference)
    .where('idempotency_key', '=', idempotencyKey)
    .where('first_sent_at', '=', firstSentAt)
    .where('state', '!=', 'linked')
    .returning('reference')
    .executeTakeFirst()
  return updated !== undefined
}

const link = prepared(
  (db: Db, values: { paymentId: string; reference: string; refundId: string }) =>
    db
      .updateTable('refund_intents')
      .set({ state: 'linked', refund_id: values.refundId })
      .where('payment_id', '=', values.paymentId)
      .where('reference', '=', values.reference),
)

/** The caller holds the payment's lock, so the attempt is still the one that was read. */
export async function linkRefundAttempt(
  db: Db,
  { paymentId, reference }: RefundAttempt,
  refundId: string,
): Promise<void> {
  await link(db, { paymentId, reference, refundId })
}

function toAttempt({ metadata, ...row }: RefundAttemptRow): RefundAttempt {
  return { ...fromRow(row), metadata: JSON.parse(metadata) }
}
