import type { ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { databaseProblem } from '../database/engine.ts'
import type { Logger } from '../logging.ts'
import {
  bodyTooLarge,
  internalFailure,
  isDiskFull,
  isDiskReadOnly,
  isOutOfDescriptors,
  malformedBody,
  malformedRequest,
  mediaTypeUnsupported,
  Problem,
  storageFull,
  storageReadOnly,
  tooManyOpenFiles,
  validationFailed,
} from '../problems.ts'
import { http } from '../runtime/networks.ts'
import { requestedPath } from './address/base-path.ts'
import { logOf, type Reply, type Request, type Server } from './framework.ts'
import { drainAfterAnswer, drainBeforeClosing } from './hooks/drain.ts'
import { addVary, type ReplyHeaders, requestId, wantsPage } from './hooks/replies.ts'
import { PROBLEM_PAGE_HEADERS, renderProblemPage } from './problem-page.ts'
import { describeFaults, type SchemaFault } from './validation.ts'

export type ProblemRenderer = (problem: Problem, request: Request) => { type: string; body: string }

/** The only place where a failure becomes a response. */
export function handleProblems(server: Server, render?: ProblemRenderer): void {
  const countLimited = server.metrics.counter({
    name: 'plinth_rate_limited_total',
    help: 'Requests refused with 429, by the code of the rule.',
    labels: ['rule'],
  })
  server.addHook('onRoute', ({ schema }) => {
    for (const { status, code } of schema?.problems ?? [])
      if (status === 429) countLimited({ rule: code }, 0)
  })
  server.setErrorHandler(async (error, request, reply) => {
    if (isTooLarge(error)) await delayClose(request, reply)
    const problem = toProblem(error, request)
    if (problem.status === 429) countLimited({ rule: problem.code })
    return answerProblem(problem, request, reply, render)
  })
}

function isTooLarge(error: unknown): boolean {
  return (error as FrameworkError | undefined)?.code === 'FST_ERR_CTP_BODY_TOO_LARGE'
}

/** The framework would close the connection at once: a client still sending would not learn why. */
async function delayClose(request: Request, reply: Reply): Promise<void> {
  reply.removeHeader('connection')
  await drainBeforeClosing(request.raw, reply.raw)
  reply.raw.once('finish', () => drainAfterAnswer(request.raw))
}

export function answerProblem(
  error: unknown,
  request: Request,
  reply: Reply,
  render: ProblemRenderer = renderProblem,
): Reply {
  const problem = toProblem(error, request)
  request.refusal = problem.code
  if (problem.status >= 500 && !hasLeft(problem, reply)) logFailure(problem, request)
  if (problem.page) addVary(reply, 'accept')
  const isPage = problem.page && (problem.page.always || wantsPage(request))
  const { type, body } = isPage
    ? renderProblemPage(problem.page, request.headers['accept-language'])
    : render(problem, request)
  if (isPage) {
    addVary(reply, 'accept-language')
    reply.headers(PROBLEM_PAGE_HEADERS)
  }
  return reply
    .code(problem.status)
    .headers(withMetadata(problem, request.server.resourceMetadata))
    .header('content-type', type)
    .send(Buffer.from(body))
}

/** A bug is logged each time. What is away, full or broken fails every request until it is back, and is logged once. */
function logFailure(problem: Problem, request: Request): void {
  const { id: requestId } = request
  const log = logOf(request)
  const { code, status, message, cause: err = problem } = problem
  const fault = faultOfSystem(err)
  const state = status === 500 ? fault && `${code} ${fault}` : code
  if (state === undefined) log.error({ requestId, err }, message)
  else log.outages.failed({ state, message, err, details: { requestId } })
}

/** The code of an error that the system gave to a call, such as EIO of a disk that is broken. */
function faultOfSystem(error: unknown): string | undefined {
  const { code, syscall } = (error ?? {}) as NodeJS.ErrnoException
  return typeof syscall === 'string' && /^E[A-Z0-9]+$/.test(code ?? '') ? code : undefined
}

/** Whether a download failed only because its client disconnected, which the request log says. */
function hasLeft({ cause }: Problem, { raw }: Reply): boolean {
  const { code } = (cause ?? {}) as FrameworkError
  return raw.destroyed && code === 'ERR_STREAM_PREMATURE_CLOSE'
}

/** RFC 9728, section 5.1. */
function withMetadata({ status, headers }: Problem, url: string | undefined) {
  const challenge = headers['www-authenticate']
  if (status !== 401 || url === undefined || !challenge?.startsWith('Bearer')) return headers
  const separator = challenge === 'Bearer' ? ' ' : ', '
  return { ...headers, 'www-authenticate': `${challenge}${separator}resource_metadata="${url}"` }
}

/** RFC 9457; which members go on the wire is decided here and nowhere else. */
export function renderProblem(problem: Problem, request: Request) {
  const body = {
    type: 'about:blank',
    title: problem.title ?? http.STATUS_CODES[problem.status],
    status: problem.status,
    detail: problem.message,
    instance: requestedPath(request),
    code: problem.code,
    requestId: request.id,
    ...problem.extra,
  }
  return { type: 'application/problem+json', body: JSON.stringify(body) }
}

const FRAMEWORK_PROBLEMS: Record<string, (options: { cause: unknown }) => Problem> = {
  FST_ERR_CTP_BODY_TOO_LARGE: bodyTooLarge,
  FST_ERR_CTP_INVALID_JSON_BODY: malformedBody,
  FST_ERR_CTP_EMPTY_JSON_BODY: malformedBody,
}

type FrameworkError = {
  code?: string
  statusCode?: number
  validation?: SchemaFault[]
}

function toProblem(error: unknown, request: Request): Problem {
  if (error instanceof Problem) return error
  const { code = '', statusCode = 500, validation } = (error ?? {}) as FrameworkError
  if (validation) return validationFailed(describeFaults(validation))
  if (code === 'FST_ERR_CTP_INVALID_MEDIA_TYPE') return wrongType(error, request)
  const known = FRAMEWORK_PROBLEMS[code]
  if (known) return known({ cause: error })
  if (isDiskFull(error)) return storageFull({ cause: error })
  if (isDiskReadOnly(error)) return storageReadOnly({ cause: error })
  if (isOutOfDescriptors(error)) return tooManyOpenFiles({ cause: error })
  const fault = databaseProblem(error)
  if (fault) return fault
  // The framework sets a status on requests that it refuses, also when the client disconnects during the body.
  const isFrameworkError = /^(FST_|ECONNRESET$)/.test(code) || error instanceof SyntaxError
  if (isFrameworkError && statusCode >= 400 && statusCode < 500)
    return malformedRequest({ cause: error })
  return internalFailure({ cause: error })
}

/** Names the media types of a route that reads its body itself; all others read JSON. */
function wrongType(cause: unknown, { routeOptions }: Request): Problem {
  const types = Object.keys(routeOptions.schema?.readsBody ?? {})
  if (types.length === 0) return mediaTypeUnsupported({ cause })
  const detail = `Send the body as "Content-Type: ${types.join('" or "')}".`
  return mediaTypeUnsupported({ cause, detail })
}

const STATUS_OF: Record<string, number> = {
  HPE_HEADER_OVERFLOW: 431,
  ERR_HTTP_REQUEST_TIMEOUT: 408,
}

const DETAIL = 'The request could not be read.'

export type BrokenRequestRenderer = (
  status: number,
  detail: string,
  requestId: string,
) => { type: string; body: string }

/** Answers input that is not valid HTTP. There is no request, so there is no route, and the id is new. */
export function answerBrokenRequests(
  log: Logger,
  headersFor: ReplyHeaders,
  render: BrokenRequestRenderer = renderBrokenRequest,
) {
  return (error: NodeJS.ErrnoException, socket: Socket): void => {
    if (error.code === 'ECONNRESET' || socket.destroyed) return
    const status = STATUS_OF[error.code ?? ''] ?? 400
    const id = requestId()
    const { type, body } = render(status, DETAIL, id)
    const headers = {
      ...headersFor(id),
      'content-type': type,
      'content-length': Buffer.byteLength(body),
      connection: 'close',
    }
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
    if (socket.writable && !isAnswering(socket))
      socket.write(
        `HTTP/1.1 ${status} ${http.STATUS_CODES[status]}\r\n${lines.join('')}\r\n${body}`,
      )
    socket.destroySoon()
    log.info({ requestId: id, status, reason: error.code }, 'request')
  }
}

/** Whether an answer to an earlier request has begun: anything written now would become part of it. */
function isAnswering(socket: Socket): boolean {
  // Node's own handler of broken requests looks here too.
  const { _httpMessage: current } = socket as Socket & { _httpMessage?: ServerResponse | null }
  return current?.headersSent === true
}

const renderBrokenRequest: BrokenRequestRenderer = (status, detail, requestId) => {
  const title = http.STATUS_CODES[status]
  const body = { type: 'about:blank', title, status, detail, code: 'BAD_REQUEST', requestId }
  return { type: 'application/problem+json', body: JSON.stringify(body) }
}
