import type { Server } from '@plinth/kit'
import type { PaymentGuard } from './guard.ts'
import { paymentReply } from './payment-reply.ts'
import { type Payments, requirePayment } from './payments.ts'
import { PaymentParams } from './schemas.ts'

export function paymentRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.get('/api/payments/:id', {
    schema: { params: PaymentParams },
    onRequest: guard.caller,
    handler: async ({ params }) =>
      paymentReply(await requirePayment(payments, params.id.toLowerCase())),
  })
}
