import type { Db } from '@plinth/kit'
import type { EventObject, EventTarget } from './event-target.ts'
import {
  type About,
  insertObservation,
  type Observation,
  remark,
} from './observations.repository.ts'
import { InconsistentObservation, observeRefund, observeSession } from './observations.ts'
import { attemptStateOf } from './observed-session.ts'
import { updateNextCheck } from './payment-checks.repository.ts'
import type { CheckoutSession, ProviderEvent, Refund } from './provider/provider.ts'
import type { PaymentTables } from './tables.ts'

/** Joins one proven event to the payment it is about, inside the caller's transaction. */
export async function applyEvent(
  db: Db<PaymentTables>,
  { event, object, target }: { event: ProviderEvent; object: EventObject; target: EventTarget },
  about: About,
): Promise<void> {
  if (object.kind === 'session') await applySession(db, event, object.session, target, about)
  if (object.kind === 'refund') await applyRefund(db, object.refund, target, about)
  if (object.kind === 'hint') await lookAgainAt(db, target, about)
  if (object.kind === 'wrong-mode') await insertObservation(db, wrongMode(target, about))
}

async function applySession(
  db: Db<PaymentTables>,
  event: ProviderEvent,
  session: CheckoutSession,
  { paymentId }: EventTarget,
  about: About,
): Promise<void> {
  const state = attemptStateOf(session, event.type)
  if (paymentId) await observeSession(db, { paymentId, session, state }, about)
}

async function applyRefund(
  db: Db<PaymentTables>,
  refund: Refund,
  target: EventTarget,
  about: About,
): Promise<void> {
  const ownerId = target.owned ? target.paymentId : null
  const ledger = await observeRefund(db, refund, about, ownerId)
  // Its intent is not known yet, but the payment is: the session will tell the rest.
  if (!ledger) return lookAgainAt(db, target, { ...about, subject: refund.id })
  const counted = ledger.refunds.find(({ id }) => id === refund.id)?.status === 'succeeded'
  if (counted && ledger.payment.anomalies.includes('REFUNDED_BEYOND_AMOUNT'))
    throw new InconsistentObservation(
      'REFUNDED_BEYOND_AMOUNT',
      ledger.payment.id,
      `With refund ${refund.id} more than the amount of the payment would be refunded.`,
    )
}

async function lookAgainAt(
  db: Db<PaymentTables>,
  { paymentId }: EventTarget,
  about: About,
): Promise<void> {
  if (!paymentId) return
  await updateNextCheck(db, paymentId, { nextCheckAt: about.at, checks: 0 })
  const note = 'The provider is asked again.'
  await insertObservation(db, { ...remark(about), paymentId, note })
}

/** An event of the other mode moves no money here, whatever it says. */
function wrongMode({ paymentId }: EventTarget, about: About): Observation {
  const note = 'A live event on a test credential, or the other way round.'
  return { ...remark(about), paymentId, note, anomaly: 'LIVE_MODE_DIFFERS' }
}
