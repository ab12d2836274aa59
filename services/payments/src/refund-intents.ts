import { failPoint, secondsAfter } from '@plinth/kit'
import { KEY_LIFETIME_SECONDS } from './idempotency-keys.ts'
import { type Payments, requireProvider } from './payments.ts'
import { isRemembered, provenRefused, refusedForGood } from './provider/outcomes.ts'
import { isMissing, providerInconsistent } from './provider/problems.ts'
import type { Refund } from './provider/provider.ts'
import type { RefundIntent } from './refund-intents.repository.ts'
import { recordRefund, recordRefunds, releaseIntent } from './refund-outcomes.ts'

/** Sends an intent that was reserved in this request, and records the refund. */
export async function sendIntent(payments: Payments, intent: RefundIntent): Promise<Refund> {
  try {
    return await create(payments, intent)
  } catch (error) {
    if (provenRefused(error)) await releaseIntent(payments, intent)
    throw blamed(error)
  }
}

/**
 * Finds out what became of an intent whose outcome is unknown: first by looking at the intent's
 * refunds, then by sending it again under the same key. A key that the provider may have forgotten
 * is never sent again; if there is no refund then, none was made. Undefined when there is none.
 */
export async function resolveIntent(
  payments: Payments,
  intent: RefundIntent,
): Promise<Refund | undefined> {
  const forgotten = secondsAfter(new Date(intent.firstSentAt), KEY_LIFETIME_SECONDS)
  const fresh = payments.clock() < forgotten
  const found = await searchRefund(payments, intent).catch((error) => {
    // While the key is fresh, sending again is safe without a look.
    if (!fresh || !refusedForGood(error)) throw blamed(error)
  })
  if (found) return found
  if (!fresh) {
    await releaseIntent(payments, intent)
    return undefined
  }
  try {
    return await create(payments, intent)
  } catch (error) {
    if (!refusedForGood(error) && !isRemembered(error)) throw error
    const late = await searchRefund(payments, intent).catch((reason) => {
      // Only a refusal proves by itself that there is nothing to find.
      if (!refusedForGood(error) || !refusedForGood(reason)) throw blamed(error)
    })
    if (late) return late
    await releaseIntent(payments, intent)
    return undefined
  }
}

async function create(payments: Payments, intent: RefundIntent): Promise<Refund> {
  failPoint('refund:reserved')
  const refund = await requireProvider(payments).createRefund(intent, intent.idempotencyKey)
  failPoint('refund:after-provider-call')
  await recordRefund(payments, intent, refund)
  failPoint('refund:recorded')
  return refund
}

/** The only thing a refund can fail to find is the payment intent we stored: no fault of a caller. */
function blamed(error: unknown): unknown {
  return isMissing(error) ? providerInconsistent({ cause: error }) : error
}

async function searchRefund(
  payments: Payments,
  { paymentIntentId, reference }: RefundIntent,
): Promise<Refund | undefined> {
  const refunds = await requireProvider(payments).listRefunds(paymentIntentId)
  await recordRefunds(payments, refunds)
  return refunds.find(({ metadata }) => metadata.refundReference === reference)
}
