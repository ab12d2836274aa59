import { type Db, prepared } from '@plinth/kit'
import type { SessionState } from '../state.ts'
import type { AttemptRow, PaymentTables } from './tables.ts'

type SentAttempt = {
  paymentId: string
  sequence: number
  reference: string
  /** What was sent, as JSON, so that exactly this can be sent again. */
  request: string
  idempotencyKey: string
  firstSentAt: string
}

/** Committed before it is sent; what the provider made of it is not known yet. */
export type ReservedAttempt = SentAttempt & {
  state: 'reserved'
  sessionId: null
  paymentIntentId: null
  url: null
  expiresAt: null
}

export type SessionAttempt = SentAttempt & {
  state: SessionState
  sessionId: string
  paymentIntentId: string | null
  url: string | null
  expiresAt: string | null
}

export type Attempt = ReservedAttempt | SessionAttempt

export async function insertAttempt(db: Db<PaymentTables>, attempt: Attempt): Promise<void> {
  await db.insertInto('attempts').values(toRow(attempt)).execute()
}

const byPayment = prepared((db: Db<PaymentTables>, { paymentId }: { paymentId: string }) =>
  db.selectFrom('attempts').selectAll().where('payment_id', '=', paymentId).orderBy('sequence'),
)

export async function listAttempts(db: Db<PaymentTables>, paymentId: string): Promise<Attempt[]> {
  return (await byPayment(db, { paymentId })).map(toAttempt)
}

const update = prepared((db: Db<PaymentTables>, attempt: Attempt) =>
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

export async function updateAttempt(db: Db<PaymentTables>, attempt: Attempt): Promise<void> {
  await update(db, attempt)
}

/**
 * Only an attempt that never became a session can be taken back, and only this very one: its
 * sequence may be another's already.
 */
export async function deleteReservedAttempt(
  db: Db<PaymentTables>,
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

const paymentIdBySession = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  db.selectFrom('attempts').select('payment_id').where('session_id', '=', id),
)

export async function findPaymentIdBySession(
  db: Db<PaymentTables>,
  sessionId: string,
): Promise<string | undefined> {
  const [row] = await paymentIdBySession(db, { id: sessionId })
  return row?.payment_id
}

/** The one attempt that has this session, whichever payment it is of. */
export async function findAttemptBySession(
  db: Db<PaymentTables>,
  sessionId: string,
): Promise<Attempt | undefined> {
  const row = await db
    .selectFrom('attempts')
    .selectAll()
    .where('session_id', '=', sessionId)
    .executeTakeFirst()
  return row && toAttempt(row)
}

const paymentIdByIntent = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  db.selectFrom('attempts').select('payment_id').where('payment_intent_id', '=', id),
)

export async function findPaymentIdByIntent(
  db: Db<PaymentTables>,
  paymentIntentId: string,
): Promise<string | undefined> {
  const [row] = await paymentIdByIntent(db, { id: paymentIntentId })
  return row?.payment_id
}

function toRow(attempt: Attempt): AttemptRow {
  return {
    payment_id: attempt.paymentId,
    sequence: attempt.sequence,
    reference: attempt.reference,
    state: attempt.state,
    session_id: attempt.sessionId,
    payment_intent_id: attempt.paymentIntentId,
    url: attempt.url,
    expires_at: attempt.expiresAt,
    request: attempt.request,
    idempotency_key: attempt.idempotencyKey,
    first_sent_at: attempt.firstSentAt,
  }
}

function toAttempt(row: AttemptRow): Attempt {
  return {
    paymentId: row.payment_id,
    sequence: row.sequence,
    reference: row.reference,
    state: row.state,
    sessionId: row.session_id,
    paymentIntentId: row.payment_intent_id,
    url: row.url,
    expiresAt: row.expires_at,
    request: row.request,
    idempotencyKey: row.idempotency_key,
    firstSentAt: row.first_sent_at,
  } as Attempt
}

/** How many checkout keys of this payment are spent although nothing came of them. */
export async function findCheckoutGeneration(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<number> {
  const row = await db
    .selectFrom('checkout_generations')
    .select('generation')
    .where('payment_id', '=', paymentId)
    .executeTakeFirst()
  return row?.generation ?? 0
}

/** Called under the payment's lock. */
export async function upsertCheckoutGeneration(
  db: Db<PaymentTables>,
  row: { paymentId: string; generation: number },
): Promise<void> {
  const { paymentId, generation } = row
  await db
    .insertInto('checkout_generations')
    .values({ payment_id: paymentId, generation })
    .onConflict((conflict) => conflict.column('payment_id').doUpdateSet({ generation }))
    .execute()
}
