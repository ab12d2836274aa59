import { positiveInteger, type Server, Type } from '@plinth/kit'
import type { Static } from 'typebox'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import {
  metadata,
  nullable,
  PaymentParams,
  ProviderIdParams,
  reference,
  textOrNull,
} from '../payment/fields.ts'
import type { RefundRequest } from './plan.ts'
import { type RefundReply, readRefund, refundPayment } from './refunds.ts'

const RefundBody = Type.Object({
  amount: nullable(positiveInteger()),
  reason: nullable(
    Type.String({
      pattern: '^(DUPLICATE|FRAUDULENT|REQUESTED_BY_CUSTOMER|\\s*)$',
      message: 'must be DUPLICATE, FRAUDULENT or REQUESTED_BY_CUSTOMER',
    }),
  ),
  reference: reference(),
  metadata: metadata(48),
})

export function refundRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/payments/:id/refund', {
    schema: { params: PaymentParams, body: RefundBody },
    onRequest: guard.refunder,
    handler: async ({ params, body }, reply) => {
      reply.code(201)
      return refundReply(await refundPayment(payments, params.id.toLowerCase(), requestOf(body)))
    },
  })

  server.get('/api/refunds/:id', {
    schema: { params: ProviderIdParams },
    onRequest: guard.caller,
    handler: async ({ params }) => refundReply(await readRefund(payments, params.id)),
  })
}

function requestOf(body: Static<typeof RefundBody>): RefundRequest {
  return {
    amount: body.amount ?? null,
    reason: textOrNull(body.reason)?.toLowerCase() ?? null,
    reference: body.reference,
    metadata: body.metadata ?? {},
  }
}

function refundReply(refund: RefundReply) {
  return {
    id: refund.id,
    paymentId: refund.paymentId,
    paymentIntentId: refund.paymentIntentId,
    amount: refund.amount,
    currency: refund.currency,
    status: refund.status,
    reason: refund.reason,
    metadata: refund.metadata,
  }
}
