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
import { readRefund, refundPayment } from './refunds.ts'

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
    onRequest: guard.refund,
    handler: ({ params, body, caller, ip, id }, reply) => {
      const requester = { actor: caller.username, address: ip, requestId: id }
      reply.code(201)
      return refundPayment(payments, params.id.toLowerCase(), requestOf(body), requester)
    },
  })

  server.get('/api/refunds/:id', {
    schema: { params: ProviderIdParams },
    onRequest: guard.read,
    handler: ({ params }) => readRefund(payments, params.id),
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
