import { randomInt, randomUUID } from 'node:crypto'
import type { RouteOptions } from 'fastify'
import { methodNotAllowed, notFound } from '../../problems.ts'
import type { Caller, Reply, Request, Server } from '../framework.ts'
import { inScope } from '../scope.ts'
import { routeTemplate, statusOf } from './measure.ts'

const ALLOWED = [
  'authorization',
  'content-type',
  'idempotency-key',
  'if-match',
  'if-modified-since',
  'if-none-match',
  'if-range',
  'if-unmodified-since',
  'last-event-id',
  'range',
  'traceparent',
  'x-api-key',
  'x-csrf-token',
  'x-request-id',
  'x-xsrf-token',
]

const EXPOSED = [
  'content-disposition',
  'content-range',
  'etag',
  'link',
  'location',
  'retry-after',
  'x-request-id',
  'x-total-count',
]

/** Headers of a protocol that only one service speaks, in lower case. */
export type SharedHeaders = { sent: string[]; received: string[] }

const NO_OTHERS: SharedHeaders = { sent: [], received: [] }

function sharedHeaders({ sent, received }: SharedHeaders = NO_OTHERS) {
  return {
    preflightHeaders: {
      'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
      'access-control-allow-headers': [...ALLOWED, ...sent].join(', '),
      'access-control-max-age': '600',
    },
    shared: { 'access-control-expose-headers': [...EXPOSED, ...received].join(', ') },
  }
}

/** CORS is off unless origins are configured; then exactly those are allowed, never a wildcard. */
export function shareWithOrigins(server: Server, origins: string[], own?: SharedHeaders): void {
  if (origins.length === 0) return
  const { preflightHeaders, shared } = sharedHeaders(own)
  server.addHook('onRequest', async (request, reply) => {
    const origin = request.headers.origin
    addVary(reply, 'origin')
    if (origin === undefined || !origins.includes(origin)) return
    reply.header('access-control-allow-origin', origin).headers(shared)
    const preflight = request.headers['access-control-request-method'] !== undefined
    if (request.method === 'OPTIONS' && preflight)
      return reply.code(204).headers(preflightHeaders).send()
  })
}

/** For routes that every page may call, because they take no cookies: tokens decide. */
export function shareWithEveryone(scope: Server, paths: string[]): void {
  const { preflightHeaders, shared } = sharedHeaders()
  const everyone = { 'access-control-allow-origin': '*', ...shared }
  scope.addHook('onRequest', async (request, reply) => {
    if (paths.includes(request.routeOptions.url ?? '')) reply.headers(everyone)
  })
  for (const path of paths)
    scope.options(path, { schema: { hide: true } }, (_request, reply) =>
      reply.code(204).headers(preflightHeaders).send(),
    )
}

/**
 * For documents that every page may read: libraries send headers of their own with them, which browsers ask about
 * first. A wildcard does not include `Authorization`.
 */
export function answerPreflights(server: Server, path: string): void {
  server.options(path, { schema: { hide: true } }, (_request, reply) =>
    reply.code(204).headers(PUBLIC_PREFLIGHT).send(),
  )
}

const PUBLIC_PREFLIGHT = {
  'access-control-allow-origin': '*',
  'access-control-allow-methods': 'GET, HEAD',
  'access-control-allow-headers': '*, authorization',
  'access-control-max-age': '600',
}

/** Each part of the code names the headers that its own decision depends on. */
export function addVary(reply: Reply, header: string): void {
  const named = reply.getHeader('vary')
  reply.header('vary', named === undefined ? header : `${named}, ${header}`)
}

/** Browsers list HTML in `Accept` when they open a URL; programs accept anything, or JSON. */
export function wantsPage({ headers: { accept = '' } }: Request): boolean {
  return accept.includes('text/html')
}

/**
 * A route that declares one success, such as 204, answers with that status, and its handler only returns the body.
 * Handlers of routes that declare several set it themselves.
 */
export function answerAsDeclared(route: RouteOptions): void {
  const successes = Object.keys(route.schema?.response ?? {}).filter((each) => /^2/.test(each))
  const status = Number(successes[0])
  if (successes.length !== 1 || status === 200) return
  const { handler } = route
  route.handler = function answer(request, reply) {
    reply.code(status)
    return handler.call(this, request, reply)
  }
}

/**
 * 405 with `Allow` for a known path with another method; 404 for everything else. Decided before the
 * body is read, so that nothing in the body changes the answer.
 */
export function answerUnknownRoutes(server: Server): void {
  const routes = new Map<string, string[]>()
  server.addHook('onRoute', ({ method, url }) => {
    routes.set(url, [...(routes.get(url) ?? []), ...[method].flat()])
  })
  // Compiled for the first unknown path, so that a start does not wait for it.
  let patterns: [RegExp, string[]][] | undefined
  server.decorate('methodsAt', (path: string) => {
    patterns ??= [...routes].map(([url, methods]) => [patternOf(url), methods])
    const found = patterns.flatMap(([pattern, methods]) => (pattern.test(path) ? methods : []))
    return [...new Set(found)].sort()
  })
  const refuse = (request: Request): never => {
    const allowed = server.methodsAt(request.url.split('?', 1)[0] ?? '')
    if (allowed.length === 0) throw notFound()
    throw methodNotAllowed({ headers: { allow: allowed.join(', ') } })
  }
  // In a scope of its own, so that the hook does not run for other requests.
  inScope(server, (scope) => {
    scope.addHook('preParsing', async (request) => refuse(request))
    scope.setNotFoundHandler(refuse)
  })
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    if (part === '*') return '.*'
    return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`)
}

export function logsRequests({ log: { level } }: Server): boolean {
  return level !== undefined && !['silent', 'fatal', 'error', 'warn'].includes(level)
}

/** Polled by health probes, metrics scrapers and our own page. */
const POLLED = /^\/(actuator(\/|$)|api\/history$)/

/**
 * Logs one line per request, without query and headers: they may contain secrets. Polled routes are
 * logged at `debug`.
 */
export function logRequest(request: Request, reply: Reply): void {
  const route = routeTemplate(request.routeOptions.url)
  const level = POLLED.test(route ?? '') ? 'debug' : 'info'
  request.server.log[level](
    {
      requestId: request.id,
      // Given explicitly, because a response ends outside of its trace.
      traceId: request.trace?.traceId,
      method: request.method,
      route: route ?? '(none)',
      status: statusOf(reply),
      code: statusOf(reply) >= 500 ? request.refusal : undefined,
      // The client disconnected before the end.
      aborted: reply.raw.writableFinished ? undefined : true,
      milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      // Not set on a route without a guard.
      callerId: (request.caller as Caller | undefined)?.userId || undefined,
    },
    'request',
  )
}

/** On every reply; a page or a file replaces `cache-control` and adds its own policy. */
const SECURITY_HEADERS = {
  'x-content-type-options': 'nosniff',
  'x-frame-options': 'DENY',
  'referrer-policy': 'no-referrer',
  'cache-control': 'no-store',
}

export type ReplyHeaders = (requestId: string) => Record<string, string>

export function replyHeaders({ publicUrl = '' }: { publicUrl?: string }): ReplyHeaders {
  // RFC 6797: a browser that has used https once does not use http again.
  const transport = publicUrl.startsWith('https:') && {
    'strict-transport-security': 'max-age=31536000',
  }
  return (requestId) => ({ 'x-request-id': requestId, ...SECURITY_HEADERS, ...transport })
}

export function sendReplyHeaders(server: Server, headersFor: ReplyHeaders): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers(headersFor(request.id))
    done()
  })
  server.addHook('onSend', (_request, reply, _payload, done) => {
    // The next request of this client must go elsewhere.
    if (server.draining) reply.raw.shouldKeepAlive = false
    done()
  })
}

const REQUEST_ID = /^[A-Za-z0-9._-]{1,128}$/

// A random part per process plus a counter is as unique as a random id, at a tenth of the cost.
const PROCESS_ID = randomUUID().slice(0, -12)

let requestCount = randomInt(2 ** 40)

/** The given id if it is well-formed, a new one otherwise. */
export function requestId(given?: string | string[]): string {
  if (typeof given === 'string' && REQUEST_ID.test(given)) return given
  requestCount += 1
  return PROCESS_ID + requestCount.toString(16).padStart(12, '0')
}
