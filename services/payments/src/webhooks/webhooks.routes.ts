import { pageRequest, type Request, type Server, Type, verifyPayload } from '@plinth/kit'
import type { PaymentGuard, Payments } from '../payment/context.ts'
import { textIn } from '../payment/fields.ts'
import {
  deliveryIncompatible,
  signatureMissing,
  signatureRejected,
  webhookNotConfigured,
} from '../payment/problems.ts'
import { parseEvent } from '../provider/objects.ts'
import { EVENT_SORTS, pageOfEvents, retryEvent } from './events.ts'
import { receiveEvent } from './receive.ts'

const MOST_BYTES = 1024 * 1024

const EventParams = Type.Object({ id: Type.String({ minLength: 1, maxLength: 255 }) })

/** In a scope whose parser keeps the bytes exactly as they came: the signature is over those. */
export function webhookRoutes(server: Server, payments: Payments, secrets: string[]): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    // The framework remembers only parsers of a named type.
    scope.addContentTypeParser('application/json', { parseAs: 'buffer' }, keepBytes)
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, keepBytes)
    scope.post('/api/provider/webhook', { bodyLimit: MOST_BYTES }, async (request) => {
      const bytes = provenBody(request, secrets, payments.clock())
      return receiveEvent(payments, { ...parseEvent(bytes), source: 'webhook' })
    })
  })
}

/** The inbox, for operators; switched on by name outside the sandbox. */
export function eventOperationRoutes(server: Server, payments: Payments, guard: PaymentGuard) {
  server.get('/api/webhook-events', {
    onRequest: guard.operate,
    handler: ({ query }) =>
      pageOfEvents(
        payments,
        { status: textIn(query, 'status'), type: textIn(query, 'type') },
        pageRequest(query, EVENT_SORTS),
      ),
  })

  server.post('/api/webhook-events/:id/retry', {
    schema: { params: EventParams },
    onRequest: guard.retry,
    handler: ({ params }) => retryEvent(payments, params.id),
  })
}

function keepBytes(_request: Request, body: Buffer, done: (error: null, body: Buffer) => void) {
  done(null, body)
}

/** The body of a delivery that the provider certainly sent. Nothing is written before this. */
function provenBody(request: Request, secrets: string[], now: Date): Buffer {
  const signature = signatureOf(request)
  if (!signature) throw signatureMissing()
  if (secrets.length === 0) throw webhookNotConfigured()
  if (!isPlainJson(request)) throw deliveryIncompatible()

  const bytes = Buffer.isBuffer(request.body) ? request.body : Buffer.alloc(0)
  const verdict = verifyPayload(bytes, signature, { secrets, now })
  if (verdict === 'genuine') return bytes
  request.log.warn({ requestId: request.id, verdict }, 'a webhook signature was refused')
  throw signatureRejected()
}

// The values as they came and not joined: a signature in two headers is refused.
function signatureOf({ raw, headers }: Request): string[] | undefined {
  const name = ['provider-signature', 'stripe-signature'].find((header) => header in headers)
  if (name === undefined) return undefined
  const isValue = (_text: string, index: number, all: string[]) =>
    index % 2 === 1 && all[index - 1]?.toLowerCase() === name
  return raw.rawHeaders.filter(isValue)
}

function isPlainJson({ headers }: Request): boolean {
  const encoding = headers['content-encoding'] ?? 'identity'
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return encoding === 'identity' && type === 'application/json'
}
