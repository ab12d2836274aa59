import { type Reply, type Request, type Server, Type } from '@plinth/kit/http'
import type { Answer } from '../protocol/answer.ts'
import { invalidForm } from '../protocol/errors.ts'
import { FORM_TYPE, type Form, parseForm } from '../protocol/form.ts'
import { listing, type Operation, retrieving } from '../protocol/operations.ts'
import * as read from '../protocol/parameters.ts'
import { createSession } from '../resources/checkout/new-session.ts'
import { expireSessionCall, listSessionItems } from '../resources/checkout/sessions.ts'
import { createCustomer, deleteCustomer, updateCustomer } from '../resources/customers.ts'
import { retrieveBalance } from '../resources/money/ledger.ts'
import { cancelRefundCall, createRefund, updateRefund } from '../resources/money/refunds.ts'
import {
  createEndpoint,
  deleteEndpoint,
  listEndpoints,
  updateEndpoint,
} from '../resources/webhooks/endpoints.ts'
import { listEvents } from '../resources/webhooks/events.ts'
import type { Sandbox } from '../state/sandbox.ts'
import { newId } from '../state/seeded.ts'
import type { HeldCalls } from './faults/held-calls.ts'
import { type Api, answerCall, type IncomingCall } from './pipeline.ts'

/** The provider's API: every endpoint the sandbox answers. */
export function apiRoutes(server: Server, sandbox: Sandbox, held: HeldCalls): void {
  const api = endpointsOf(server, { sandbox, held, keysInUse: new Map() })

  api.post('/v1/customers', createCustomer)
  api.get('/v1/customers', listing('customer', { email: read.text() }))
  api.get('/v1/customers/:id', retrieving('customer'))
  api.post('/v1/customers/:id', updateCustomer)
  api.delete('/v1/customers/:id', deleteCustomer)

  api.post('/v1/checkout/sessions', createSession)
  api.get(
    '/v1/checkout/sessions',
    listing('checkout.session', {
      payment_intent: read.text(),
      customer: read.text(),
      status: read.choice(['open', 'complete', 'expired']),
    }),
  )
  api.get('/v1/checkout/sessions/:id', retrieving('checkout.session'))
  api.get('/v1/checkout/sessions/:id/line_items', listSessionItems)
  api.post('/v1/checkout/sessions/:id/expire', expireSessionCall)

  api.get('/v1/payment_intents', listing('payment_intent', { customer: read.text() }))
  api.get('/v1/payment_intents/:id', retrieving('payment_intent'))
  api.get('/v1/charges', listing('charge', { customer: read.text(), payment_intent: read.text() }))
  api.get('/v1/charges/:id', retrieving('charge'))

  api.post('/v1/refunds', createRefund)
  api.get('/v1/refunds', listing('refund', { payment_intent: read.text(), charge: read.text() }))
  api.get('/v1/refunds/:id', retrieving('refund'))
  api.post('/v1/refunds/:id', updateRefund)
  api.post('/v1/refunds/:id/cancel', cancelRefundCall)

  api.get('/v1/events', listEvents)
  api.get('/v1/events/:id', retrieving('event'))

  api.post('/v1/webhook_endpoints', createEndpoint)
  api.get('/v1/webhook_endpoints', listEndpoints)
  api.get('/v1/webhook_endpoints/:id', retrieving('webhook_endpoint'))
  api.post('/v1/webhook_endpoints/:id', updateEndpoint)
  api.delete('/v1/webhook_endpoints/:id', deleteEndpoint)

  api.get('/v1/balance', retrieveBalance)
  api.get(
    '/v1/balance_transactions',
    listing('balance_transaction', {
      source: read.text(),
      currency: read.text(),
      type: read.choice(['charge', 'payment', 'refund', 'refund_failure']),
    }),
  )
  api.get('/v1/balance_transactions/:id', retrieving('balance_transaction'))
}

// Searches are not offered; without these routes `search` would be taken for an id.
const SEARCHES = ['customers', 'payment_intents', 'charges'].map((kind) => `/v1/${kind}/search`)
const UNKNOWN_URLS = ['/v1', '/v1/*', ...SEARCHES]
const UNKNOWN_METHODS = ['GET', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS']

/** Adds endpoints of the provider's API, each with its operation. Any other URL is answered as unknown. */
function endpointsOf(server: Server, api: Api) {
  const answer =
    (route: string, operation?: Operation) => async (request: Request, reply: Reply) => {
      const call = await readCall(api.sandbox, request, reply, route)
      return send(reply, await answerCall(api, call, operation), headersOf(request, call))
    }
  for (const url of UNKNOWN_URLS) {
    const handler = answer('(unknown)')
    // Answered before the body is read, so that nothing in it changes the answer.
    server.route({ method: UNKNOWN_METHODS, url, onRequest: handler, handler })
  }
  const add = (method: 'GET' | 'POST' | 'DELETE') => (url: string, operation: Operation) => {
    const schema = { readsBody: { [FORM_TYPE]: Type.Object({}) } }
    server.route({ method, url, schema, handler: answer(`${method} ${url}`, operation) })
  }
  return { get: add('GET'), post: add('POST'), delete: add('DELETE') }
}

async function readCall(
  sandbox: Sandbox,
  request: Request,
  reply: Reply,
  route: string,
): Promise<IncomingCall> {
  const { method, url, params, headers } = request
  const [path = '', query = ''] = url.split(/\?(.*)/s)
  const key = headers['idempotency-key']
  const requestId = await newId(sandbox, 'req', 14)
  return {
    requestId,
    requestLogUrl: `${sandbox.publicUrl()}/sandbox#${requestId}`,
    method,
    route,
    url,
    path,
    id: (params as { id?: string }).id ?? '',
    authorization: headers.authorization,
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    readForm: () => (method === 'GET' ? parseForm(query) : formOf(request)),
    hungUp: hangUpSignal(reply),
  }
}

function formOf(request: Request): Form {
  if (request.body === undefined || request.body === null) return parseForm('')
  if (/^application\/x-www-form-urlencoded/i.test(request.headers['content-type'] ?? ''))
    return parseForm(request.body as string)
  throw invalidForm(
    'Invalid request (check that your POST content type is application/x-www-form-urlencoded).',
  )
}

function hangUpSignal(reply: Reply): AbortSignal {
  const controller = new AbortController()
  reply.raw.once('close', () => controller.abort())
  return controller.signal
}

function headersOf(request: Request, call: IncomingCall): Record<string, string> {
  const version = request.headers['stripe-version']
  return {
    'content-type': 'application/json',
    'request-id': call.requestId,
    ...(typeof version === 'string' && { 'stripe-version': version }),
    ...(call.idempotencyKey !== undefined && { 'idempotency-key': call.idempotencyKey }),
  }
}

function send(reply: Reply, answer: Answer, common: Record<string, string>): Reply {
  const { status, body, cut } = answer
  const headers = { ...common, ...answer.headers }
  if (cut === undefined) return reply.code(status).headers(headers).send(body)
  reply.hijack()
  if (cut === 'truncated') {
    const bytes = Buffer.from(body)
    reply.raw.writeHead(status, { ...headers, 'content-length': bytes.length })
    reply.raw.write(bytes.subarray(0, bytes.length / 2), () => reply.raw.destroy())
  } else reply.raw.socket?.resetAndDestroy()
  return reply
}
