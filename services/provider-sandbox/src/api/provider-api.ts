import type { Reply, Request, Server } from '@plinth/kit'
import type { HeldCalls } from '../faults/held-calls.ts'
import type { Sandbox } from '../sandbox.ts'
import { newId } from '../state/identifiers.ts'
import { insertRequest } from '../state/requests.repository.ts'
import type { Answer } from './answer.ts'
import { answerCall, type IncomingCall } from './answer-call.ts'
import { type Form, parseForm } from './form.ts'
import type { Operation } from './operation.ts'
import { invalidForm } from './provider-errors.ts'

type Method = 'GET' | 'POST' | 'DELETE'

type ProviderApi = {
  get(path: string, operation: Operation): void
  post(path: string, operation: Operation): void
  delete(path: string, operation: Operation): void
}

/** Adds endpoints of the provider's API, each by what it does. */
export function providerApi(server: Server, sandbox: Sandbox, held: HeldCalls): ProviderApi {
  const add = (method: Method) => (path: string, operation: Operation) => {
    server.route({
      method,
      url: path,
      handler: async (request, reply) => {
        const call = await readCall(sandbox, request, reply, `${method} ${path}`)
        const { answer, fault } = await answerCall(sandbox, held, call, operation)
        await insertRequest(sandbox.db, {
          id: call.requestId,
          at: sandbox.clock().toISOString(),
          method,
          path: request.url,
          idempotency_key: call.idempotencyKey ?? null,
          status: answer.cut === 'reset' ? 0 : answer.status,
          replayed: answer.headers?.['idempotent-replayed'] ? 1 : 0,
          fault,
        })
        return sendAnswer(reply, answer, headersOf(request, call))
      },
    })
  }
  return { get: add('GET'), post: add('POST'), delete: add('DELETE') }
}

async function readCall(
  sandbox: Sandbox,
  request: Request,
  reply: Reply,
  route: string,
): Promise<IncomingCall> {
  const [path = '', query = ''] = request.url.split(/\?(.*)/s)
  const { id = '' } = (request.params ?? {}) as { id?: string }
  const key = request.headers['idempotency-key']
  return {
    requestId: await newId(sandbox, 'req', 14),
    method: request.method,
    route,
    path,
    id,
    authorization: request.headers.authorization,
    idempotencyKey: typeof key === 'string' && key !== '' ? key : undefined,
    readForm: () => (request.method === 'GET' ? parseForm(query) : formOf(request)),
    hungUp: hangUpSignal(reply),
  }
}

function formOf(request: Request): Form {
  if (request.body === undefined || request.body === null) return parseForm('')
  if (/^application\/x-www-form-urlencoded/i.test(request.headers['content-type'] ?? ''))
    return request.body as Form
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

function sendAnswer(reply: Reply, answer: Answer, headers: Record<string, string>): Reply {
  const { status, body, cut } = answer
  if (cut === undefined)
    return reply
      .code(status)
      .headers({ ...headers, ...answer.headers })
      .send(body)
  reply.hijack()
  if (cut === 'truncated') {
    const bytes = Buffer.from(body)
    reply.raw.writeHead(status, { ...headers, 'content-length': bytes.length })
    reply.raw.write(bytes.subarray(0, bytes.length / 2), () => reply.raw.destroy())
  } else reply.raw.socket?.resetAndDestroy()
  return reply
}
