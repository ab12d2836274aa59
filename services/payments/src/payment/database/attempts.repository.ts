import { type FromRow, fromRow, prepared, toRow } from '@plinth/kit/database'
import type { SessionState } from '../../provider/provider.ts'
import type { AttemptRow, Db } from './tables.ts'

type Columns = FromRow<AttemptRow>

type Sent = Pick<
  Columns,
  'paymentId' | 'sequence' | 'reference' | 'request' | 'idempotencyKey' | 'firstSentAt'
>

/** Committed before it is sent; its outcome at the provider is not known yet. */
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

const insert = prepared((db: Db, attempt: Attempt) =>
  db.insertInto('attempts').values(toRow<AttemptRow>(attempt)),
)

export async function insertAttempt(db: Db, attempt: Attempt): Promise<void> {
  await insert(db, attempt)
}

const byPayment = prepared((db: Db, { paymentId }: { paymentId: string }) =>
  db.selectFrom('attempts').selectAll().where('payment_id', '=', paymentId).orderBy('sequence'),
)

export async function listAttempts(db: Db, paymentId: string): Promise<Attempt[]> {
  return (await byPayment(db, { paymentId })).map(toAttempt)
}

const update = prepared((db: Db, attempt: SessionAttempt) =>
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

export async function updateAttempt(db: Db, attempt: SessionAttempt): Promise<void> {
  await update(db, attempt)
}

/**
 * Only an attempt that never got a session can be withdrawn, and only this exact one: another
 * attempt may have its sequence by now.
 */
export async function deleteReservedAttempt(
  db: Db,
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

const bySession = prepared((db: Db, { sessionId }: { sessionId: string }) =>
  db.selectFrom('attempts').selectAll().where('session_id', '=', sessionId),
)

/** The one attempt that has this session, of any payment. */
export async function findAttemptBySession(
  db: Db,
  sessionId: string,
): Promise<Attempt | undefined> {
  const [row] = await bySession(db, { sessionId })
  return row && toAttempt(row)
}

const paymentIdByIntent = prepared((db: Db, { intentId }: { intentId: string }) =>
  db.selectFrom('attempts').select('payment_id').where('payment_intent_id', '=', intentId),
)

export async function findPaymentIdByIntent(
  db: Db,
  paymentIntentId: string,
): Promise<string | undefined> {
  const [row] = await paymentIdByIntent(db, { intentId: paymentIntentId })
  return row?.payment_id
}

// Every stored attempt is either reserved or has a session.
function toAttempt(row: AttemptRow): Attempt {
  return fromRow(row) as Attempt
}
