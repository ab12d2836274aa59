import {
  emailText,
  lookUpText,
  orNull,
  pageRequest,
  pageSize,
  type Server,
  Type,
  textIn,
} from '@plinth/kit/http'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import {
  metadata,
  metadataOrNone,
  optionalPlainText,
  ProviderIdParams,
  textOrNull,
} from '../payment/fields.ts'
import { providerNotConfigured } from '../payment/problems.ts'
import { CALL_PROBLEMS, providerResourceMissing } from '../provider/problems.ts'
import { createCustomer, pageOfCustomers, readCustomer } from './customers.ts'

const CustomerBody = Type.Object(
  {
    email: emailText(254),
    name: optionalPlainText(255),
    description: optionalPlainText(500),
    metadata: metadata(50),
  },
  { title: 'CustomerRequest' },
)

const CustomerReply = Type.Object(
  {
    id: Type.String({ examples: ['cus_A1b2C3'] }),
    email: orNull(Type.String({ examples: ['ada@example.com'] })),
    name: orNull(Type.String()),
    description: orNull(Type.String()),
    metadata: Type.Record(Type.String(), Type.String()),
  },
  { title: 'Customer' },
)

const CustomersReply = Type.Object(
  {
    customers: Type.Array(CustomerReply),
    next: orNull(Type.String({ description: 'Pass it as `after` to get the next page' })),
  },
  { title: 'PageOfCustomers' },
)

/** The provider's limit. */
const MAX_CUSTOMERS = 100

const CustomersQuery = Type.Object({
  email: Type.Optional(lookUpText({ description: 'The whole address' })),
  after: Type.Optional(lookUpText({ description: 'The `next` of the previous page' })),
  size: Type.Optional(pageSize(MAX_CUSTOMERS)),
})

const tags = ['Customers']

const KeyHeaders = Type.Object({
  'idempotency-key': Type.Optional(
    Type.String({
      pattern: '^[\\x21-\\x7e]{1,200}$',
      message: 'must have 1 to 200 visible ASCII characters',
      description: 'Repeated calls with the same key create one customer',
    }),
  ),
})

export function customerRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
  server.post('/api/customers', {
    schema: {
      operationId: 'createCustomer',
      summary: 'Create a customer at the provider',
      tags,
      body: CustomerBody,
      headers: KeyHeaders,
      response: { 201: CustomerReply },
      problems: [providerNotConfigured, ...CALL_PROBLEMS],
    },
    onRequest: guard.write,
    handler: async ({ body, headers, caller }) => {
      const customer = {
        email: body.email.trim(),
        name: textOrNull(body.name),
        description: textOrNull(body.description),
        metadata: metadataOrNone(body.metadata),
      }
      const idempotencyKey = headers['idempotency-key']
      return createCustomer(payments, customer, { callerId: caller.userId, idempotencyKey })
    },
  })

  server.get('/api/customers/:id', {
    schema: {
      operationId: 'customer',
      summary: 'A customer of the provider',
      tags,
      params: ProviderIdParams,
      response: { 200: CustomerReply },
      problems: [providerNotConfigured, providerResourceMissing, ...CALL_PROBLEMS],
    },
    onRequest: guard.read,
    handler: ({ params }) => readCustomer(payments, params.id),
  })
}

/** For operators; outside the sandbox only with `PAYMENTS_OPERATIONS`. */
export function customerOperationRoutes(server: Server, payments: Payments, guard: PaymentGuard) {
  server.get('/api/customers', {
    schema: {
      operationId: 'customers',
      summary: 'Customers of the provider, newest first; all or by e-mail',
      tags,
      readsQuery: CustomersQuery,
      response: { 200: CustomersReply },
      problems: [providerNotConfigured, providerResourceMissing, ...CALL_PROBLEMS],
    },
    onRequest: guard.operate,
    handler: ({ query }) =>
      pageOfCustomers(payments, {
        email: textIn(query, 'email'),
        after: textIn(query, 'after'),
        size: Math.min(pageRequest(query, []).size, MAX_CUSTOMERS),
      }),
  })
}
