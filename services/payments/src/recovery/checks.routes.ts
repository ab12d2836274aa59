import { noContent, type Server } from '@plinth/kit/http'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import { PaymentParams } from '../payment/fields.ts'
import { paymentBusy, paymentMissing, providerNotConfigured } from '../payment/problems.ts'
import { CALL_PROBLEMS, providerInconsistent } from '../provider/problems.ts'
import { checkPayment } from './reconcile.ts'

/** For operators; outside the sandbox only with `PAYMENTS_OPERATIONS`. */
export function checkRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/payments/:id/check', {
    schema: {
      operationId: 'checkPayment',
      summary: 'Ask the provider about a payment now',
      description: 'The service does so by itself while an answer is missing.',
      tags: ['Payments'],
      params: PaymentParams,
      response: { 204: noContent },
      problems: [
        paymentMissing,
        paymentBusy,
        providerNotConfigured,
        providerInconsistent,
        ...CALL_PROBLEMS,
      ],
    },
    onRequest: guard.retry,
    handler: ({ params }) => checkPayment(payments, params.id.toLowerCase()),
  })
}
