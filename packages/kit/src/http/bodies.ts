import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import { bodyTooSlow } from '../problems.ts'
import type { Request, Server } from './framework.ts'

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

const LINGER_MS = 15_000

const SILENCE_MS = 500

const LINGER_BYTES = 256 * 1024 * 1024

/**
 * For a request answered before it was read to its end. Closing at once would make the kernel
 * reset the connection and the client lose the answer, and many clients read nothing until they
 * have sent everything. So the rest is read and thrown away: not for ever.
 */
async function discardRest(request: IncomingMessage, silenceMs = LINGER_MS): Promise<void> {
  if (request.complete || request.destroyed) return
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  let bytesLeft = LINGER_BYTES
  const deadline = setTimeout(resolve, LINGER_MS).unref()
  const silence = setTimeout(resolve, silenceMs).unref()
  request.once('end', resolve).once('close', resolve)
  request.on('error', () => {})
  request.on('data', (chunk: Buffer) => {
    silence.refresh()
    bytesLeft -= chunk.length
    if (bytesLeft < 0) resolve()
  })
  request.resume()
  await enough
  clearTimeout(deadline)
  clearTimeout(silence)
}

/** After the answer; a client that still goes on sending is cut off. */
export async function discardAfterAnswer(request: IncomingMessage): Promise<void> {
  await discardRest(request)
  if (!request.complete) request.destroy()
}

/**
 * When the client asked to close, the answer ends the connection, so the rest has to go first.
 * One that falls silent, or asked whether to send at all (`Expect`), is waiting for the answer.
 */
export async function discardBeforeClosing(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (response.shouldKeepAlive || request.headers.expect !== undefined) return
  await discardRest(request, SILENCE_MS)
}
