import type { Payment } from './payments.repository.ts'

/** The payment as the specification shows it. */
export function paymentReply(payment: Payment) {
  return {
    id: payment.id,
    businessReference: payment.businessReference,
    providerCustomerId: payment.providerCustomerId,
    providerCheckoutSessionId: payment.sessionId,
    providerPaymentIntentId: payment.paymentIntentId,
    checkoutAttemptReference: payment.attemptReference,
    checkoutStatus: payment.checkoutStatus,
    amount: payment.amount,
    refundedAmount: payment.refundedAmount,
    currency: payment.currency,
    status: payment.status,
    createdAt: payment.createdAt,
    updatedAt: payment.updatedAt,
  }
}
