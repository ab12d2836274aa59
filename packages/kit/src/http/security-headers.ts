import type { Server } from './server.ts'

/** On every reply; a page or a file replaces `cache-control` and adds its own policy. */
export function sendSecurityHeaders(server: Server): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply
      .header('x-request-id', request.id)
      .header('x-content-type-options', 'nosniff')
      .header('x-frame-options', 'DENY')
      .header('referrer-policy', 'no-referrer')
      .header('cache-control', 'no-store')
    done()
  })
}
