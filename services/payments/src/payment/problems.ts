import { defineProblem } from '@plinth/kit'

const CONFLICT = { title: 'Request conflict' }

const INVALID = { title: 'Invalid request' }

const NOT_FOUND = { title: 'Resource not found' }

const NOT_CONFIGURED = { title: 'Provider is not configured' }

export const providerNotConfigured = defineProblem(
  'PROVIDER_NOT_CONFIGURED',
  503,
  'The provider API credential is not configured.',
  NOT_CONFIGURED,
)

export const webhookNotConfigured = defineProblem(
  'WEBHOOK_NOT_CONFIGURED',
  503,
  'The webhook secret is not configured.',
  NOT_CONFIGURED,
)

export const paymentMissing = defineProblem(
  'PAYMENT_NOT_FOUND',
  404,
  'There is no payment with this id.',
  NOT_FOUND,
)

export const eventMissing = defineProblem(
  'EVENT_NOT_FOUND',
  404,
  'There is no webhook event with this id.',
  NOT_FOUND,
)

export const paymentDiffers = defineProblem(
  'PAYMENT_DIFFERS',
  409,
  'This business reference belongs to a payment with another amount or currency.',
  CONFLICT,
)

export const paymentSettled = defineProblem(
  'PAYMENT_ALREADY_SETTLED',
  409,
  'This payment has been settled already.',
  CONFLICT,
)

export const attemptProcessing = defineProblem(
  'CHECKOUT_PROCESSING',
  409,
  'A checkout attempt of this payment is still being processed.',
  { ...CONFLICT, headers: { 'retry-after': '5' } },
)

export const attemptReferenceSpent = defineProblem(
  'ATTEMPT_REFERENCE_REUSED',
  409,
  'This attempt reference belongs to an attempt that has ended. Use a new one.',
  CONFLICT,
)

export const paymentBusy = defineProblem(
  'PAYMENT_BUSY',
  409,
  'Another request is working on this payment. Try again in a moment.',
  { ...CONFLICT, headers: { 'retry-after': '2' } },
)

export const intentMissing = defineProblem(
  'PAYMENT_INTENT_MISSING',
  409,
  'This payment has no payment intent to refund.',
  CONFLICT,
)

export const paymentNotRefundable = defineProblem(
  'PAYMENT_NOT_REFUNDABLE',
  409,
  'Only a payment that is PAID or PARTIALLY_REFUNDED can be refunded.',
  CONFLICT,
)

export const refundReferenceReused = defineProblem(
  'REFUND_REFERENCE_REUSED',
  409,
  'This refund reference belongs to a refund with other content.',
  CONFLICT,
)

export const refundBeyondBalance = defineProblem(
  'REFUND_EXCEEDS_BALANCE',
  400,
  'The amount is above what can still be refunded.',
  INVALID,
)

export const signatureMissing = defineProblem(
  'SIGNATURE_MISSING',
  400,
  'The Provider-Signature header is missing.',
  INVALID,
)

export const signatureRejected = defineProblem(
  'SIGNATURE_INVALID',
  400,
  'The signature does not match the body, the secret or the time.',
  INVALID,
)

export const deliveryIncompatible = defineProblem(
  'DELIVERY_INCOMPATIBLE',
  400,
  'Send the event as an uncompressed application/json body.',
  INVALID,
)

export const eventFailed = defineProblem(
  'EVENT_PROCESSING_FAILED',
  500,
  'The event could not be processed. It is kept and will be tried again.',
)

/** The provider says something that must never be applied silently. */
export class InconsistentObservation extends Error {
  readonly anomaly: string
  readonly paymentId: string

  constructor(anomaly: string, paymentId: string, message: string) {
    // It is kept with the event, and PostgreSQL keeps no NUL.
    super(message.replaceAll('\u0000', ''))
    this.name = 'InconsistentObservation'
    this.anomaly = anomaly
    this.paymentId = paymentId
  }
}
