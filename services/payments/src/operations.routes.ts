import { pageRequest, type Server, Type } from '@plinth/kit'
import { retryEvent } from './event-retries.ts'
import type { PaymentGuard } from './guard.ts'
import { EVENT_SORTS, PAYMENT_SORTS, pageOfEvents, pageOfPayments } from './operations.ts'
import type { Payments } from './payments.ts'
import { PaymentParams } from './schemas.ts'
import { readTimeline } from './timeline.ts'

const EventParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 255 }) })

/** For the people who look after payments; switched on by name outside the sandbox. */
export function operationRoutes(server: Server, payments: Payments, guard: PaymentGuard): void {
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

  server.get('/api/webhook-events', {
    onRequest: guard.caller,
    handler: ({ query }) =>
      pageOfEvents(
        payments,
        { status: textIn(query, 'status'), type: textIn(query, 'type') },
        pageRequest(query, EVENT_SORTS),
      ),
  })

  server.post('/api/webhook-events/:id/retry', {
    schema: { params: EventParams },
    onRequest: guard.refunder,
    handler: ({ params }) => retryEvent(payments, params.id),
  })
}

function textIn(query: unknown, name: string): string | undefined {
  const value = (query as Record<string, unknown>)[name]
  return typeof value === 'string' && value !== '' ? value : undefined
}
