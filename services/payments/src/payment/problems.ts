import { Type } from '@plinth/kit/http'
import { defineProblem } from '@plinth/kit/problems'
import { conflict, invalid, notConfigured } from '../provider/problems.ts'

const missing = (code: string, detail: string) =>
  defineProblem(code, 404, detail, { title: 'Resource not found' })

export const providerNotConfigured = notConfigured(
  'PROVIDER_NOT_CONFIGURED',
  'The provider API credential is not configured.',
)

export const paymentMissing = missing('PAYMENT_NOT_FOUND', 'There is no payment with this id.')

export const eventMissing = missing('EVENT_NOT_FOUND', 'There is no webhook event with this id.')

export const returnUrlNotAllowed = invalid(
  'RETURN_URL_NOT_ALLOWED',
  'The page has an origin that customers may not be sent back to.',
)

export const paymentDiffers = conflict(
  'PAYMENT_DIFFERS',
  'This business reference belongs to a payment with another amount or currency.',
)

export const paymentSettled = conflict(
  'PAYMENT_ALREADY_SETTLED',
  'This payment has been settled already.',
)

export const attemptProcessing = conflict(
  'CHECKOUT_PROCESSING',
  'A checkout attempt of this payment is still being processed.',
  { 'retry-after': '5' },
)

export const attemptReferenceSpent = conflict(
  'ATTEMPT_REFERENCE_REUSED',
  'This attempt reference belongs to an attempt that has ended. Use a new one.',
)

export const paymentBusy = conflict(
  'PAYMENT_BUSY',
  'Another request is working on this payment. Try again in a moment.',
  { 'retry-after': '2' },
)

export const intentMissing = conflict(
  'PAYMENT_INTENT_MISSING',
  'This payment has no payment intent to refund.',
)

export const paymentNotRefundable = conflict(
  'PAYMENT_NOT_REFUNDABLE',
  'Only a payment that is PAID or PARTIALLY_REFUNDED can be refunded.',
  undefined,
  {
    existingRefund: Type.Object({
      id: Type.String(),
      status: Type.String(),
      amount: Type.Integer(),
    }),
  },
)

export const refundReferenceReused = conflict(
  'REFUND_REFERENCE_REUSED',
  'This refund reference belongs to a refund with other content.',
)

export const refundBeyondBalance = invalid(
  'REFUND_EXCEEDS_BALANCE',
  'The amount is above what can still be refunded.',
  { refundableAmount: Type.Integer() },
)

export const eventFailed = defineProblem(
  'EVENT_PROCESSING_FAILED',
  500,
  'The event could not be processed. It is kept and will be tried again.',
)

/** The provider reported something that must never be applied silently. */
export class InconsistentObservation extends Error {
  readonly anomaly: string
  readonly paymentId: string

  constructor(anomaly: string, paymentId: string, message: string) {
    // The message is stored with the event, and PostgreSQL cannot store NUL.
    super(message.replaceAll('\u0000', ''))
    this.name = 'InconsistentObservation'
    this.anomaly = anomaly
    this.paymentId = paymentId
  }
}
