import type { Reply, Request, Server } from '@plinth/kit'
import { type Answer, errorAnswer, jsonOf } from '../protocol/answer.ts'
import { invalidForm, ProviderError } from '../protocol/errors.ts'
import { type Form, parseForm } from '../protocol/form.ts'
import type { Operation } from '../protocol/operation.ts'
import { list, required, text } from '../protocol/parameters.ts'
import { runTimers } from '../resources/timers.ts'
import { change, type Sandbox } from '../state/sandbox.ts'
import { insertRequest } from '../state/timers.repository.ts'
import { newId } from '../state/values.repository.ts'
import { authenticate } from './authentication.ts'
import { expandPaths } from './expand.ts'
import type { Fault } from './faults/fault.ts'
import type { HeldCalls } from './faults/held-calls.ts'
import {
  answerToRemember,
  drawFault,
  type Struck,
  strikeAfter,
  strikeBefore,
  strikeDuring,
} from './faults/strike.ts'
import { answerOnce, fingerprintOf, type Remember } from './idempotency.ts'

type IncomingCall = {
  requestId: string
  method: string
  /** The route as faults name it: `POST /v1/refunds/:id/cancel`. */
  route: string
  path: string
  id: string
  authorization: string | undefined
  idempotencyKey: string | undefined
  readForm: () => Form
  hungUp: AbortSignal
}

type AnsweredCall = { answer: Answer; fault: string | null }

const readExpand = list(required(text()), 100)

/**
 * The way of every call: authentication, faults before, the idempotency key, the parameters, the
 * effect with its events in one transaction, faults after.
 */
async function answerCall(
  sandbox: Sandbox,
  held: HeldCalls,
  call: IncomingCall,
  operation: Operation,
): Promise<AnsweredCall> {
  const requestLogUrl = `${sandbox.publicUrl()}/sandbox#${call.requestId}`
  let fault: Fault | undefined
  const answer = await refusalsAnswered(requestLogUrl, async () => {
    authenticate(call.authorization)
    await runTimers(sandbox)
    fault = await drawFault(sandbox, call.route)
    const struck: Struck = { fault, held, hungUp: call.hungUp, requestLogUrl }
    const early = strikeBefore(struck)
    if (early) return early
    const form = call.readForm()
    const work = (remember: Remember) =>
      perform(sandbox, struck, { ...call, form }, operation, remember)
    const key = call.method === 'POST' ? call.idempotencyKey : undefined
    const { requestId, method, path } = call
    const done = key
      ? await answerOnce(
          sandbox,
          { key, fingerprint: fingerprintOf(method, path, form), requestId },
          work,
        )
      : await work(async () => {})
    return strikeAfter(struck, done)
  })
  return { answer, fault: fault?.kind ?? null }
}

async function refusalsAnswered(
  requestLogUrl: string,
  work: () => Promise<Answer>,
): Promise<Answer> {
  try {
    return await work()
  } catch (error) {
    if (error instanceof ProviderError) return errorAnswer(error, requestLogUrl)
    throw error
  }
}

type ReadCall = IncomingCall & { form: Form }

async function perform(
  sandbox: Sandbox,
  struck: Struck,
  call: ReadCall,
  operation: Operation,
  remember: Remember,
): Promise<Answer> {
  const during = await strikeDuring(struck)
  if (during?.remembered) await remember(sandbox, during.answer)
  if (during) return during.answer
  try {
    return await change(sandbox, async (inside) => {
      const body = jsonOf(await effect(inside, call, operation))
      const answer = answerToRemember(struck, { status: 200, body })
      await remember(inside, answer)
      return answer
    })
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error
    const answer = errorAnswer(error, struck.requestLogUrl)
    if (!error.facts.unremembered) await remember(sandbox, answer)
    return answer
  }
}

async function effect(sandbox: Sandbox, call: ReadCall, operation: Operation): Promise<object> {
  const { expand, ...form } = call.form
  const paths = readExpand(expand, 'expand') ?? []
  const request = { id: call.requestId, idempotencyKey: call.idempotencyKey ?? null }
  const { id, path } = call
  const object = await operation({ ...sandbox, request }, { id, form, path })
  return paths.length === 0 ? object : expandPaths(sandbox, object, paths)
}

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
