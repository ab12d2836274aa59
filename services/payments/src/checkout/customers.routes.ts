import { emailText, type Server, Type } from '@plinth/kit'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import { metadata, optionalPlainText, ProviderIdParams, textOrNull } from '../payment/fields.ts'
import { createCustomer, readCustomer } from './customers.ts'

const CustomerBody = Type.Object({
  email: emailText(254),
  name: optionalPlainText(255),
  description: optionalPlainText(500),
  metadata: metadata(50),
})

const KeyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,200}$',
      message: 'must have 1 to 200 visible ASCII characters',
    }),
  ),
})

export function customerRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/customers', {
    schema: { body: CustomerBody, headers: KeyHeaders },
    onRequest: guard.write,
    handler: async ({ body, headers, caller }, reply) => {
      const customer = {
        email: body.email.trim(),
        name: textOrNull(body.name),
        description: textOrNull(body.description),
        metadata: body.metadata ?? {},
      }
      reply.code(201)
      const idempotencyKey = headers['idempotency-key']
      return createCustomer(payments, customer, { callerId: caller.userId, idempotencyKey })
    },
  })

  server.get('/api/customers/:id', {
    schema: { params: ProviderIdParams },
    onRequest: guard.read,
    handler: ({ params }) => readCustomer(payments, params.id),
  })
}
