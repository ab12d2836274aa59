import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Server } from '../../framework.ts'
import { beforeBodies } from './before-bodies.ts'

/**
 * A client that asks first (`Expect: 100-continue`) is told to send its body once the guards of the
 * route have let it pass. An upload is refused for more reasons, so its handler decides.
 */
export function inviteBodies(server: Server): void {
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.server.emit('request', request, response)
  })
  beforeBodies(server, ({ raw, routeOptions }, reply, payload, done) => {
    if (!routeOptions.config.receivesUpload) inviteBody(raw, reply.raw)
    done(null, payload)
  })
}

export function inviteBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (/\b100-continue\b/i.test(headers.expect ?? '')) response.writeContinue()
}
