import { pageRequest, type Server } from '@plinth/kit'
import type { PaymentGuard, Payments } from './context.ts'
import { PaymentParams, textIn } from './fields.ts'
import { PAYMENT_SORTS, pageOfPayments, readPayment, readTimeline } from './payments.ts'

export function paymentRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.get('/api/payments/:id', {
    schema: { params: PaymentParams },
    onRequest: guard.caller,
    handler: ({ params }) => readPayment(payments, params.id.toLowerCase()),
  })
}

/** For operators; switched on by name outside the sandbox. */
export function paymentOperationRoutes(server: Server, payments: Payments, guard: PaymentGuard) {
  server.get('/api/payments', {
    onRequest: guard.caller,
    handler: ({ query }) =>
      pageOfPayments(
        payments,
        { businessReference: textIn(query, 'businessReference') },
        pageRequest(query, PAYMENT_SORTS),
      ),
  })

  server.get('/api/payments/:id/timeline', {
    schema: { params: PaymentParams },
    onRequest: guard.caller,
    handler: ({ params }) => readTimeline(payments, params.id.toLowerCase()),
  })
}
