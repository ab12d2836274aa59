import { methodNotAllowed, notFound } from '../../problems.ts'
import type { Request, Server } from '../framework.ts'

const PREFLIGHT = {
  'access-control-allow-methods': 'GET, HEAD, POST, PUT, PATCH, DELETE',
  'access-control-allow-headers':
    'authorization, content-type, x-xsrf-token, x-csrf-token, x-api-key',
  'access-control-max-age': '600',
}

/** Closed unless origins are configured; then exactly those, never a wildcard. */
export function shareWithOrigins(server: Server, origins: string[]): void {
  if (origins.length === 0) return
  server.addHook('onRequest', async (request, reply) => {
    const origin = request.headers.origin
    reply.header('vary', 'origin')
    if (origin === undefined || !origins.includes(origin)) return
    reply.header('access-control-allow-origin', origin)
    reply.header(
      'access-control-expose-headers',
      'x-request-id, etag, location, link, x-total-count',
    )
    const preflight = request.headers['access-control-request-method'] !== undefined
    if (request.method === 'OPTIONS' && preflight) return reply.code(204).headers(PREFLIGHT).send()
  })
}

type KnownRoute = { method: string; pattern: RegExp }

/**
 * 405 with `Allow` for a known path with another method; 404 for everything else. Decided before the
 * body is read, so that nothing in the body changes the answer.
 */
export function answerUnknownRoutes(server: Server): void {
  const routes: KnownRoute[] = []
  server.addHook('onRoute', ({ method, url }) => {
    for (const name of [method].flat()) routes.push({ method: name, pattern: patternOf(url) })
  })
  const refuse = (request: Request): never => {
    const path = request.url.split('?', 1)[0] ?? ''
    const allowed = routes.filter(({ pattern }) => pattern.test(path)).map(({ method }) => method)
    if (allowed.length === 0) throw notFound()
    throw methodNotAllowed({ headers: { allow: [...new Set(allowed)].sort().join(', ') } })
  }
  server.addHook('preParsing', (request, _reply, payload, done) => {
    if (request.is404) refuse(request)
    done(null, payload)
  })
  server.setNotFoundHandler(refuse)
}

function patternOf(url: string): RegExp {
  const parts = url.split('/').map((part) => {
    if (part.startsWith(':')) return '[^/]+'
    if (part === '*') return '.*'
    return part.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')
  })
  return new RegExp(`^${parts.join('/')}$`)
}

/** One line a request, without query and headers: they may carry secrets. */
export function logRequests(server: Server): void {
  if (!server.log.level || ['silent', 'fatal', 'error', 'warn'].includes(server.log.level)) return
  server.addHook('onResponse', (request, reply, done) => {
    server.log.info(
      {
        requestId: request.id,
        method: request.method,
        route: request.routeOptions.url ?? '(none)',
        status: reply.statusCode,
        milliseconds: Math.round(reply.elapsedTime * 10) / 10,
      },
      'request',
    )
    done()
  })
}

const HSTS = 'max-age=31536000'

/** On every reply; a page or a file replaces `cache-control` and adds its own policy. */
export function sendSecurityHeaders(
  server: Server,
  { publicUrl = '' }: { publicUrl?: string },
): void {
  // RFC 6797: a browser that came by https once does not come by http again.
  const transport = publicUrl.startsWith('https:') && { 'strict-transport-security': HSTS }
  server.addHook('onRequest', (request, reply, done) => {
    reply
      .header('x-request-id', request.id)
      .header('x-content-type-options', 'nosniff')
      .header('x-frame-options', 'DENY')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-store')
    if (transport) reply.headers(transport)
    // The next request of this client must go elsewhere.
    if (server.draining) reply.header('connection', 'close')
    done()
  })
}
