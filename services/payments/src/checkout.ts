import { randomUUID } from 'node:crypto'
import { inTransaction } from '@plinth/kit'
import type { Attempt } from './attempts.repository.ts'
import { expireAttempt, lookUpAttempt, resolveAttempt, sendAttempt } from './attempts.ts'
import {
  type CheckoutRequest,
  type CheckoutStep,
  planCheckout,
  refuseDifferent,
} from './checkout-plan.ts'
import { reserveAttempt, reservePayment } from './checkout-reservations.ts'
import { lockPayment } from './ledger.ts'
import { findPaymentByReference } from './payments.repository.ts'
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
    const known = await findPaymentByReference(payments.db, request.businessReference)
    if (known) refuseDifferent(request, known)
    const paymentId = known?.id ?? randomUUID()
    const attempt = await withPayment(payments, paymentId, async () => {
      const first = known ? undefined : await reservePayment(payments, paymentId, request)
      return payableAttempt(payments, paymentId, request, first)
    })
    if (attempt)
      return {
        paymentId,
        checkoutSessionId: attempt.sessionId ?? '',
        checkoutUrl: attempt.url ?? '',
      }
  }
}

const MOST_STEPS = 8

/** Goes step by step until there is an open session; undefined when the payment was withdrawn. */
async function payableAttempt(
  payments: Payments,
  paymentId: string,
  request: CheckoutRequest,
  first: Attempt | undefined,
): Promise<Attempt | undefined> {
  if (first) await sendAttempt(payments, first)
  let asked = first?.sequence
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
    const plan = planCheckout(request, { ...locked, asked, now })
    if (plan.step !== 'reserve') return plan
    const attempt = await reserveAttempt({ ...payments, db }, locked, request, plan.sequence)
    return { step: 'send-first', attempt }
  })
}
