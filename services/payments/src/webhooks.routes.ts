import { type Request, type Server, verifyPayload } from '@plinth/kit'
import type { Payments } from './payments.ts'
import {
  deliveryIncompatible,
  signatureMissing,
  signatureRejected,
  webhookNotConfigured,
} from './problems.ts'
import { parseEvent } from './provider/events.ts'
import { receiveEvent } from './webhooks.ts'

/** Its own scope, whose parser keeps the bytes exactly as they came: the signature is over those. */
export function webhookRoutes(server: Server, payments: Payments, secrets: string[]): void {
  server.register(async (scope) => {
    scope.removeAllContentTypeParsers()
    scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, body, done) => {
      done(null, body)
    })
    scope.post('/api/provider/webhook', (request) => {
      const bytes = provenBody(request, secrets, payments.clock())
      const event = parseEvent(bytes)
      return receiveEvent(payments, { event, body: bytes.toString('utf8'), source: 'webhook' })
    })
  })
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

// The distinct values and not the joined one: a signature in two parts is refused.
function signatureOf({ raw }: Request): string[] | undefined {
  const headers = raw.headersDistinct
  return headers['provider-signature'] ?? headers['stripe-signature']
}

function isPlainJson({ headers }: Request): boolean {
  const encoding = headers['content-encoding'] ?? 'identity'
  const type = headers['content-type']?.split(';', 1)[0]?.trim().toLowerCase()
  return encoding === 'identity' && type === 'application/json'
}
