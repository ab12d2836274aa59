import type { Server } from './server.ts'

/** On every reply; a page or a file replaces `cache-control` and adds its own policy. */
export function sendSecurityHeaders(server: Server): void {
  server.addHook('onRequest', (request, reply, done) => {
    reply.headers({
      'x-request-id': request.id,
      'x-content-type-options': 'nosniff',
      'x-frame-options': 'DENY',
      'referrer-policy': 'no-referrer',
      'cache-control': 'no-store',
    })
    done()
  })
}
