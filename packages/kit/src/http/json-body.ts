import { Readable } from 'node:stream'
import type { Request, Server } from './server.ts'

const FORM = 'application/x-www-form-urlencoded'

/**
 * An empty body is "no body", even when the client says it is JSON: endpoints without one accept
 * it, and a schema reports it like any other fault. A member that would become the prototype is one
 * that nobody knows, and left out.
 */
export function parseJsonBodies(server: Server): void {
  const parse = server.getDefaultJsonParser('remove', 'remove')
  server.removeContentTypeParser('text/plain')
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'string' },
    (request, body: string, done) => {
      if (body.trim() === '') done(null, undefined)
      else parse(request, body, done)
    },
  )
  server.addHook('preParsing', (request, _reply, payload, done) => {
    const { headers } = request
    if (headers['content-type'] === undefined) return done(null, payload)
    if (isFormOfNothing(request)) delete request.raw.headers['content-type']
    done(null, isAnnounced(headers) ? payload : Readable.from([]))
  })
}

/** Otherwise Node has no stream for it, and a parser would wait for the end of one for ever. */
function isAnnounced(headers: Request['headers']): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Several HTTP clients call whatever they post a form, even when they post nothing. */
function isFormOfNothing({ headers, server }: Request): boolean {
  const empty = !headers['transfer-encoding'] && Number(headers['content-length'] ?? 0) === 0
  const type = headers['content-type']?.toLowerCase() ?? ''
  return empty && type.startsWith(FORM) && !server.hasContentTypeParser(FORM)
}
