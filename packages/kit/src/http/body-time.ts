import type { IncomingMessage, ServerResponse } from 'node:http'
import { bodyTooSlow } from '../problems.ts'
import type { Server } from './server.ts'

/**
 * A body that trickles in holds a connection for nothing. Uploads are exempt: they are as slow as
 * the client's line and watch their own pace. What is still to come after the answer has the same
 * time, whatever it is: nobody waits for the body of a GET, nor of a request that was refused.
 */
export function limitBodyTime(server: Server, deadlineMs = 30_000): void {
  server.addHook('preParsing', (request, reply, payload, done) => {
    if (hasBody(request.headers) && !isUpload(request.headers['content-type'])) {
      const watch = () => {
        const timer = setTimeout(() => {
          // Nobody reads the body of a GET, and an error that nobody hears ends the process.
          if (payload.listenerCount('error') === 0) return
          // An error event, not destroy(): that would take the connection away before the answer.
          payload.emit('error', bodyTooSlow())
        }, deadlineMs)
        const stop = () => clearTimeout(timer)
        payload.once('end', stop)
        reply.raw.once('close', stop)
      }
      // A small body mostly came with its headers, and will have been read by then.
      setImmediate(() => {
        if (!request.raw.complete && !reply.raw.destroyed) watch()
      })
    }
    done(null, payload)
  })
  server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request.headers)) response.once('finish', () => cutRest(request, deadlineMs))
  })
}

function cutRest(request: IncomingMessage, deadlineMs: number): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), deadlineMs).unref()
  request.once('end', () => clearTimeout(timer))
}

function hasBody(headers: Record<string, unknown>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

function isUpload(contentType: string | undefined): boolean {
  return contentType?.toLowerCase().startsWith('multipart/') ?? false
}
