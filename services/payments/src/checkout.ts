import { randomUUID } from 'node:crypto'
import { inTransaction } from '@plinth/kit'
import { type Attempt, insertAttempt } from './attempts.repository.ts'
import { expireAttempt, lookUpAttempt, resolveAttempt, sendAttempt } from './attempts.ts'
import {
  type CheckoutRequest,
  type CheckoutStep,
  planCheckout,
  refuseDifferent,
} from './checkout-plan.ts'
import { lockPayment, settleLedger } from './ledger.ts'
import { newAttempt } from './new-attempt.ts'
import { linkParkedEvents } from './parked-events.ts'
import { findPaymentByReference, insertPayment } from './payments.repository.ts'
import { type Payments, requireProvider, withPayment } from './payments.ts'
import { attemptProcessing } from './problems.ts'

type CheckoutReply = { paymentId: string; checkoutSessionId: string; checkoutUrl: string }

/** Creates a payable session for a logical payment, or hands out the one that is open already. */
export async function openCheckout(
  payments: Payments,
  request: CheckoutRequest,
): Promise<CheckoutReply> {
  requireProvider(payments)
  const key = JSON.stringify(['checkout', request])
  return payments.sharing(key, () => createOrReuse(payments, request))
}

async function createOrReuse(payments: Payments, request: CheckoutRequest): Promise<CheckoutReply> {
  while (true) {
    const paymentId = await reservePayment(payments, request)
    const attempt = await withPayment(payments, paymentId, () =>
      payableAttempt(payments, paymentId, request),
    )
    if (attempt)
      return {
        paymentId,
        checkoutSessionId: attempt.sessionId ?? '',
        checkoutUrl: attempt.url ?? '',
      }
  }
}

/** The id of the payment this request is about; of racing requests one inserts it. */
async function reservePayment(payments: Payments, request: CheckoutRequest): Promise<string> {
  const { businessReference, amount, currency, providerCustomerId } = request
  const known = await findPaymentByReference(payments.db, businessReference)
  if (known) {
    refuseDifferent(request, known)
    return known.id
  }
  const id = randomUUID()
  const createdAt = payments.clock().toISOString()
  await inTransaction(payments.db, async (db) => {
    const payment = { id, businessReference, amount, currency, providerCustomerId, createdAt }
    if (await insertPayment(db, payment)) await linkParkedEvents(db, payment, payments.clock())
  })
  return reservePayment(payments, request)
}

const MOST_STEPS = 8

/** Goes step by step until there is an open session; undefined when the payment was withdrawn. */
async function payableAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
): Promise<Attempt | undefined> {
  let asked: number | undefined
  for (let count = 0; count < MOST_STEPS; count++) {
    const next = await nextStep(payments, paymentId, request, asked)
    if (next?.step === 'reuse') return next.attempt
    if (!next) return undefined
    await take(payments, next)
    asked = next.attempt.sequence
  }
  throw attemptProcessing()
}

type ProviderStep = {
  step: Exclude<CheckoutStep['step'], 'reserve'> | 'send-first'
  attempt: Attempt
}

function take(payments: Payments, { step, attempt }: ProviderStep): Promise<void> {
  if (step === 'send-first') return sendAttempt(payments, attempt)
  if (step === 'send') return resolveAttempt(payments, attempt)
  return step === 'expire' ? expireAttempt(payments, attempt) : lookUpAttempt(payments, attempt)
}

/** Decides under the payment's lock; a new attempt is written down before the provider hears of it. */
function nextStep(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  asked: number | undefined,
): Promise<ProviderStep | undefined> {
  const now = payments.clock()
  return inTransaction(payments.db, async (db) => {
    const locked = await lockPayment(db, paymentId)
    if (!locked) return undefined
    const { payment, attempts } = locked
    const plan = planCheckout(request, { payment, attempts, asked, now })
    if (plan.step !== 'reserve') return plan

    const attempt = newAttempt(payments, paymentId, request, plan.sequence)
    await insertAttempt(db, attempt)
    const about = { source: 'request', kind: 'checkout requested', at: now } as const
    const note = `Attempt ${attempt.reference}`
    await settleLedger(db, { payment, attempts: [...attempts, attempt] }, { ...about, note })
    return { step: 'send-first', attempt }
  })
}
