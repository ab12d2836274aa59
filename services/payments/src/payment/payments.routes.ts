import { pageRequest, type Server } from '@plinth/kit'
import type { PaymentGuard, Payments } from './context.ts'
import { PaymentParams, textIn } from './fields.ts'
import {
  AUDIT_SORTS,
  PAYMENT_SORTS,
  pageOfAudit,
  pageOfPayments,
  readPayment,
  readTimeline,
} from './payments.ts'

export function paymentRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.get('/api/payments/:id', {
    schema: { params: PaymentParams },
    onRequest: guard.read,
    handler: ({ params }) => readPayment(payments, params.id.toLowerCase()),
  })
}

/** For operators; switched on by name outside the sandbox. */
export function paymentOperationRoutes(server: Server, payments: Payments, guard: PaymentGuard) {
  server.get('/api/payments', {
    onRequest: guard.operate,
    handler: ({ query }) =>
      pageOfPayments(
        payments,
        { businessReference: textIn(query, 'businessReference') },
        pageRequest(query, PAYMENT_SORTS),
      ),
  })

  server.get('/api/payments/:id/timeline', {
    schema: { params: PaymentParams },
    onRequest: guard.operate,
    handler: ({ params }) => readTimeline(payments, params.id.toLowerCase()),
  })

  server.get('/api/audit', {
    onRequest: guard.operate,
    handler: ({ query }) => pageOfAudit(payments, pageRequest(query, AUDIT_SORTS)),
  })
}
