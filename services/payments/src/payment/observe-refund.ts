import type { Refund } from '../provider/provider.ts'
import type { Recording } from './context.ts'
import { findPaymentIdByIntent } from './database/attempts.repository.ts'
import { lockName } from './database/locks.repository.ts'
import type { ObservationSource } from './database/observations.repository.ts'
import {
  type CountedRefund,
  findRefund,
  findRefundAttempt,
  linkRefundAttempt,
  type RefundAttempt,
  upsertRefund,
} from './database/refunds.repository.ts'
import type { Db } from './database/tables.ts'
import { publishRefundChange } from './publish.ts'
import { countedOf, lockRecord, type PaymentRecord } from './record.ts'
import { saveRecord } from './save.ts'
import { joinRefundStatus } from './state.ts'

export type LockedRefund = {
  record: PaymentRecord | undefined
  seen: CountedRefund | undefined
  attempt: RefundAttempt | undefined
}

/**
 * Takes the locks and reads the rows needed to join a refund. `ownerId` is the payment that has the
 * intent, if known: a payment never loses its intent, so its own lock is enough.
 */
export async function lockRefund(
  db: Db,
  observed: Refund,
  ownerId: string | null,
): Promise<LockedRefund> {
  const intent = observed.paymentIntentId ?? (await earlierIntentOf(db, observed))
  const paymentId = ownerId ?? (await findOwner(db, intent))
  const reference = observed.metadata.refundReference
  const [record, attempt] = await Promise.all([
    paymentId === undefined ? undefined : lockRecord(db, paymentId, intent, observed.id),
    paymentId && reference ? findRefundAttempt(db, paymentId, reference) : undefined,
  ])
  const seen = record
    ? record.refunds.find(({ id }) => id === observed.id)
    : await findRefund(db, observed.id)
  return { record, seen, attempt }
}

/**
 * Joins an observed refund to its payment, which `lockRefund` has locked in the caller's transaction. A
 * refund whose intent belongs to no attempt yet is stored, and counts as soon as a session names the intent.
 */
export async function observeRefund(
  recording: Recording,
  { record: locked, seen, attempt }: LockedRefund,
  observed: Refund,
  source: ObservationSource,
): Promise<PaymentRecord | undefined> {
  const { db } = recording
  const joined = joinRefund(seen, observed)
  const change = { before: seen, after: joined, paymentId: locked?.payment.id }
  await Promise.all([
    upsertRefund(db, joined, source.at),
    publishRefundChange(db, change, source.at),
  ])
  if (!locked) return undefined
  const linked = attempt && isAnsweredBy(attempt, observed) ? attempt : undefined
  if (linked) await linkRefundAttempt(db, linked, observed.id)
  const others = locked.refunds.filter(({ id }) => id !== joined.id)
  const refunds = countedOf([...others, joined], locked.attempts)
  const unresolved = locked.unresolved.filter(({ reference }) => reference !== linked?.reference)
  const record = { ...locked, refunds, unresolved }
  return saveRecord(recording, record, { ...source, subject: observed.id })
}

/** Takes the intent's lock, which a session that names the intent takes too. */
async function findOwner(db: Db, intent: string | null): Promise<string | undefined> {
  if (!intent) return undefined
  const [, paymentId] = await Promise.all([
    lockName(db, 'intent', intent),
    findPaymentIdByIntent(db, intent),
  ])
  return paymentId
}

/** The intent that an earlier observation of the refund named, in case this one does not. */
async function earlierIntentOf(db: Db, { id }: Refund): Promise<string | null> {
  return (await findRefund(db, id))?.paymentIntentId ?? null
}

function joinRefund(known: CountedRefund | undefined, observed: Refund): Refund {
  if (!known) return observed
  return {
    ...observed,
    amount: known.amount,
    paymentIntentId: known.paymentIntentId ?? observed.paymentIntentId,
    status: joinRefundStatus(known.status, observed.status),
    reason: observed.reason ?? known.reason,
  }
}

/**
 * Whether this is the refund that our attempt was waiting for; once linked, the refund itself is counted
 * instead. A withdrawn attempt is linked too: its reference must never create a second refund.
 */
function isAnsweredBy({ state, amount }: RefundAttempt, refund: Refund): boolean {
  return state !== 'linked' && amount === refund.amount
}
