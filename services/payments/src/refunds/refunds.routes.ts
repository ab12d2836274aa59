import { orNull, positiveInteger, type Server, Type } from '@plinth/kit/http'
import { nameInAudit } from '@plinth/service-keys'
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
import {
  intentMissing,
  paymentBusy,
  paymentMissing,
  paymentNotRefundable,
  providerNotConfigured,
  refundBeyondBalance,
  refundReferenceReused,
} from '../payment/problems.ts'
import {
  CALL_PROBLEMS,
  providerInconsistent,
  providerResourceMissing,
} from '../provider/problems.ts'
import type { RefundStatus } from '../provider/provider.ts'
import type { RefundRequest } from './plan.ts'
import { readRefund, refundPayment } from './refunds.ts'

const RefundBody = Type.Object(
  {
    amount: nullable(positiveInteger()),
    reason: nullable(
      Type.String({
        pattern: '^(DUPLICATE|FRAUDULENT|REQUESTED_BY_CUSTOMER|\\s*)$',
        message: 'must be DUPLICATE, FRAUDULENT or REQUESTED_BY_CUSTOMER',
        examples: ['REQUESTED_BY_CUSTOMER'],
      }),
    ),
    reference: reference({
      examples: ['refund-1'],
      description: 'Repeated calls with the same reference create one refund',
    }),
    metadata: metadata(48),
  },
  {
    title: 'RefundRequest',
    examples: [{ amount: 900, reason: 'REQUESTED_BY_CUSTOMER', reference: 'refund-1' }],
  },
)

const RefundReply = Type.Object(
  {
    id: Type.String({ examples: ['re_A1b2C3'] }),
    paymentId: orNull(Type.String({ format: 'uuid' })),
    paymentIntentId: orNull(Type.String({ examples: ['pi_A1b2C3'] })),
    amount: Type.Integer({ description: 'Minor unit of the currency' }),
    currency: Type.String({ examples: ['eur'] }),
    status: Type.Unsafe<RefundStatus>(Type.String({ examples: ['succeeded'] })),
    reason: orNull(Type.String({ examples: ['requested_by_customer'] })),
    metadata: Type.Record(Type.String(), Type.String()),
  },
  { title: 'Refund' },
)

const tags = ['Refunds']

export function refundRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/payments/:id/refund', {
    schema: {
      operationId: 'refund',
      summary: 'Refund what is left of a payment, or a part of it',
      tags,
      params: PaymentParams,
      body: RefundBody,
      response: { 201: RefundReply },
      problems: [
        paymentMissing,
        intentMissing,
        paymentNotRefundable,
        refundReferenceReused,
        refundBeyondBalance,
        paymentBusy,
        providerNotConfigured,
        providerInconsistent,
        ...CALL_PROBLEMS,
      ],
    },
    onRequest: guard.refund,
    handler: ({ params, body, caller, ip, id }) => {
      const requester = { actor: nameInAudit(caller), address: ip, requestId: id }
      return refundPayment(payments, params.id.toLowerCase(), requestOf(body), requester)
    },
  })

  server.get('/api/refunds/:id', {
    schema: {
      operationId: 'refundState',
      summary: 'A refund, as the provider sees it now',
      tags,
      params: ProviderIdParams,
      response: { 200: RefundReply },
      problems: [providerNotConfigured, providerResourceMissing, ...CALL_PROBLEMS],
    },
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
