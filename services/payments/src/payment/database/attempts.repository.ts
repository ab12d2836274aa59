import { type FromRow, fromRow, prepared, toRow } from '@plinth/kit'
import type { SessionState } from '../state.ts'
import type { AttemptRow, PaymentDb } from './tables.ts'

type Columns = FromRow<AttemptRow>

type Sent = Pick<
  Columns,
  'paymentId' | 'sequence' | 'reference' | 'request' | 'idempotencyKey' | 'firstSentAt'
>

/** Committed before it is sent; what the provider made of it is not known yet. */
export type ReservedAttempt = Sent & {
  state: 'reserved'
  sessionId: null
  paymentIntentId: null
  url: null
  expiresAt: null
}

export type SessionAttempt = Omit<Columns, 'state' | 'sessionId'> & {
  state: SessionState
  sessionId: string
}

export type Attempt = ReservedAttempt | SessionAttempt

export async function insertAttempt(db: PaymentDb, attempt: Attempt): Promise<void> {
  await db.insertInto('attempts').values(toRow<AttemptRow>(attempt)).execute()
}

const byPayment = prepared((db: PaymentDb, { paymentId }: { paymentId: string }) =>
  db.selectFrom('attempts').selectAll().where('payment_id', '=', paymentId).orderBy('sequence'),
)

export async function listAttempts(db: PaymentDb, paymentId: string): Promise<Attempt[]> {
  return (await byPayment(db, { paymentId })).map(toAttempt)
}

const update = prepared((db: PaymentDb, attempt: SessionAttempt) =>
  db
    .updateTable('attempts')
    .set({
      state: attempt.state,
      session_id: attempt.sessionId,
      payment_intent_id: attempt.paymentIntentId,
      url: attempt.url,
      expires_at: attempt.expiresAt,
    })
    .where('payment_id', '=', attempt.paymentId)
    .where('sequence', '=', attempt.sequence),
)

export async function updateAttempt(db: PaymentDb, attempt: SessionAttempt): Promise<void> {
  await update(db, attempt)
}

/**
 * Only an attempt that never became a session can be withdrawn, and only this very one: its
 * sequence may be another's already.
 */
export async function deleteReservedAttempt(
  db: PaymentDb,
  { paymentId, sequence, idempotencyKey, firstSentAt }: ReservedAttempt,
): Promise<boolean> {
  const deleted = await db
    .deleteFrom('attempts')
    .where('payment_id', '=', paymentId)
    .where('sequence', '=', sequence)
    .where('idempotency_key', '=', idempotencyKey)
    .where('first_sent_at', '=', firstSentAt)
    .where('state', '=', 'reserved')
    .returning('sequence')
    .executeTakeFirst()
  return deleted !== undefined
}

const bySession = prepared((db: PaymentDb, { sessionId }: { sessionId: string }) =>
  db.selectFrom('attempts').selectAll().where('session_id', '=', sessionId),
)

/** The one attempt that has this session, whichever payment it is of. */
export async function findAttemptBySession(
  db: PaymentDb,
  sessionId: string,
): Promise<Attempt | undefined> {
  const [row] = await bySession(db, { sessionId })
  return row && toAttempt(row)
}

const paymentIdByIntent = prepared((db: PaymentDb, { id }: { id: string }) =>
  db.selectFrom('attempts').select('payment_id').where('payment_intent_id', '=', id),
)

export async function findPaymentIdByIntent(
  db: PaymentDb,
  paymentIntentId: string,
): Promise<string | undefined> {
  const [row] = await paymentIdByIntent(db, { id: paymentIntentId })
  return row?.payment_id
}

// What is written is a reserved attempt or one that has a session.
function toAttempt(row: AttemptRow): Attempt {
  return fromRow(row) as Attempt
}

/** How many checkout keys of this payment are spent although nothing came of them. */
export async function findCheckoutGeneration(db: PaymentDb, paymentId: string): Promise<number> {
  const row = await db
    .selectFrom('checkout_generations')
    .select('generation')
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return row?.generation ?? 0
}

export async function raiseCheckoutGeneration(db: PaymentDb, paymentId: string): Promise<void> {
  await db
    .insertInto('checkout_generations')
    .values({ payment_id: paymentId, generation: 1 })
    .onConflict((conflict) =>
      conflict
        .column('payment_id')
        .doUpdateSet((set) => ({ generation: set('checkout_generations.generation', '+', 1) })),
    )
    .execute()
}
