import { networkMatcher } from '../../runtime/networks.ts'
import {
  type Attributes,
  inTrace,
  parseTraceparent,
  type Trace,
  type TraceContext,
} from '../../tracing/trace-context.ts'
import type { Reply, Request, Server } from '../framework.ts'
import { readsBody } from './bodies/before-bodies.ts'
import { routeTemplate, statusOf } from './measure.ts'

/**
 * Runs each request in its trace: the one its `traceparent` names, or, with a tracer, a new one.
 * Whether a trace is recorded is decided here; only a trusted proxy may decide it for us.
 */
export function traceRequests(server: Server, trustedProxies: string[] = []): void {
  const { tracer } = server
  const isTrusted = networkMatcher(trustedProxies)
  const sampledOf = ({ traceId, sampled }: TraceContext, { socket }: Request) =>
    tracer?.isSampled(traceId, isTrusted(socket.remoteAddress ?? '') ? sampled : undefined) === true
  server.decorateRequest('trace', undefined)
  server.addHook('onRequest', (request, reply, done) => {
    const { traceparent } = request.raw.headers
    if (!tracer && traceparent === undefined) return done()
    const given = parseTraceparent(traceparent)
    request.trace = given
    if (tracer && !isProbe(request)) {
      const span = tracer.start('server', given && { ...given, sampled: sampledOf(given, request) })
      request.trace = span.trace
      reply.raw.once('close', () => span.end(...described(request, reply)))
    }
    if (request.trace) inTrace(request.trace, done)
    else done()
  })
  server.addHook('onRoute', (route) => {
    if (!readsBody(route)) return
    route.preValidation = [resume, ...[route.preValidation ?? []].flat()]
  })
}

/** A body arrives in the context of its connection, not in that of the request. */
function resume({ trace }: Request, _reply: Reply, done: () => void): void {
  if (trace) inTrace(trace, done)
  else done()
}

function isProbe({ url }: Request): boolean {
  return url.startsWith('/actuator/')
}

function described(request: Request, reply: Reply): [string, Attributes, boolean] {
  const route = routeTemplate(request.routeOptions.url)
  const status = statusOf(reply)
  const attributes = {
    'http.request.method': request.method,
    'http.route': route,
    'http.response.status_code': status,
    'url.path': isPathPublic(route) ? request.url.split('?', 1)[0] : route,
  }
  return [`${request.method} ${route ?? ''}`.trim(), attributes, status >= 500]
}

/**
 * A path may contain the token of a link, and so may one without a route of its own: a link that is asked for with
 * another method or with something appended. The query, which may hold a secret too, is never recorded.
 */
function isPathPublic(route: string | undefined): boolean {
  return route !== undefined && !/\{token\}|\*/.test(route)
}

declare module 'fastify' {
  interface FastifyRequest {
    trace: Trace | undefined
  }
}
