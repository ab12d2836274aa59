import { type Db, failPoint, inTransaction } from '@plinth/kit'
import { openLedger, settleLedger } from './ledger.ts'
import { lockRefund } from './name-locks.repository.ts'
import { InconsistentObservation, observeRefund } from './observations.ts'
import type { Payments } from './payments.ts'
import type { Refund } from './provider/provider.ts'
import { recordReply } from './provider-replies.ts'
import { type RefundIntent, updateIntentState } from './refund-intents.repository.ts'
import { findRefund } from './refunds.repository.ts'
import type { PaymentTables } from './tables.ts'

/** Joins a refund that we asked for to the payment it belongs to. */
export async function recordRefund(
  { db, clock }: Payments,
  intent: RefundIntent,
  refund: Refund,
): Promise<void> {
  const about = {
    source: 'reply',
    kind: 'refund created',
    at: clock(),
    subject: refund.id,
  } as const
  await recordReply(db, about, async (transaction) => {
    await refuseTakenRefund(transaction, intent, refund)
    await observeRefund(transaction, refund, about)
  })
}

/** A provider that gives one refund to two payments has given back the money of one of them. */
async function refuseTakenRefund(
  db: Db<PaymentTables>,
  { paymentId, paymentIntentId }: RefundIntent,
  { id }: Refund,
): Promise<void> {
  await lockRefund(db, id)
  const owner = (await findRefund(db, id))?.paymentIntentId
  if (!owner || owner === paymentIntentId) return
  const message = `Refund ${id} is another payment's already.`
  throw new InconsistentObservation('REFUND_USED_ELSEWHERE', paymentId, message)
}

/** Records what the provider says about refunds, all of it in one transaction. */
export async function recordRefunds({ db, clock }: Payments, refunds: Refund[]): Promise<void> {
  const about = { source: 'look-up', kind: 'refund looked up', at: clock() } as const
  await inTransaction(db, async (transaction) => {
    for (const refund of refunds) await observeRefund(transaction, refund, about)
  })
}

/** Gives back the money reserved for an intent that certainly produced nothing. */
export async function releaseIntent({ db, clock }: Payments, intent: RefundIntent): Promise<void> {
  await inTransaction(db, async (transaction) => {
    const ledger = await openLedger(transaction, intent.paymentId)
    const refused = { state: 'refused', refundId: null } as const
    if (!ledger || !(await updateIntentState(transaction, intent, refused))) return
    const about = { source: 'look-up', kind: 'refund refused', at: clock() } as const
    await settleLedger(transaction, ledger, { ...about, subject: intent.reference })
  })
  failPoint('refund:released')
}
