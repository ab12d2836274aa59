import type { Server } from './server.ts'

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
