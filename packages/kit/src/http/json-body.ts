import type { Server } from './server.ts'

/**
 * An empty body is "no body", even when the client says it is JSON: endpoints without one accept
 * it, and a schema reports it like any other fault.
 */
export function parseJsonBodies(server: Server): void {
  const parse = server.getDefaultJsonParser('error', 'error')
  server.removeContentTypeParser('text/plain')
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    (request, body: string, done) => {
      if (body.trim() === '') done(null, undefined)
      else parse(request, body, done)
    },
  )
}
