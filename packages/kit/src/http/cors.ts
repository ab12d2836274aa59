import type { Server } from './server.ts'

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
