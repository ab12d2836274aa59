import type { IncomingMessage, ServerResponse } from 'node:http'
import type { Readable } from 'node:stream'
import { inTurn } from '../../../runtime/turns.ts'
import type { Server } from '../../framework.ts'
import { beforeBodies, hasBody } from './before-bodies.ts'

/** Node reads this much at once. */
const CHUNK_BYTES = 64 * 1024

/**
 * Node reads up to 2 MB from one connection before it turns to the next: sixty clients that send a megabyte each
 * fill a turn of the event loop with 60 MB, and other requests wait for a quarter of a second. So large bodies arrive
 * in turns, chunk by chunk, whether they are wanted or were refused before they came. Uploads wait for the disk anyway.
 */
export function takeBodiesInTurns(server: Server): void {
  beforeBodies(server, ({ headers, routeOptions }, _reply, payload, done) => {
    const isLarge = Number(headers['content-length'] ?? 0) > CHUNK_BYTES
    if (isLarge && !routeOptions.config.receivesUpload)
      payload.once('resume', () => arriveInTurns(payload))
    done(null, payload)
  })
  server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    const { headers } = request
    // Not even a listener for small bodies, which most requests have.
    if (!hasBody(headers) || Number(headers['content-length']) <= CHUNK_BYTES) return
    // Before Node's own listener, which reads what is left without a pause.
    response.prependOnceListener('finish', () => {
      if (!request.complete && request.readableFlowing === null) arriveInTurns(request)
    })
  })
}

const paced = new WeakSet<Readable>()

export function arriveInTurns(body: Readable): void {
  if (paced.has(body)) return
  paced.add(body)
  body.on('data', () => {
    body.pause()
    inTurn(() => body.resume())
  })
}
