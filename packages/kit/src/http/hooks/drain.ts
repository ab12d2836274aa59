import type { IncomingMessage, ServerResponse } from 'node:http'
import { arriveInTurns } from './bodies/turns.ts'

/** Drains the request after the answer. A client that keeps sending for too long is disconnected. */
export async function drainAfterAnswer(request: IncomingMessage): Promise<void> {
  await drainRequest(request)
  if (!request.complete) request.destroy()
}

const SILENCE_MS = 500

/**
 * If the client asked to close the connection, the answer ends it, so the rest is drained before the
 * answer. A client that falls silent, or asked whether to send at all (`Expect`), is waiting for it.
 */
export async function drainBeforeClosing(
  request: IncomingMessage,
  response: ServerResponse,
): Promise<void> {
  if (response.shouldKeepAlive || request.headers.expect !== undefined) return
  await drainRequest(request, SILENCE_MS)
}

const MAX_DRAIN_MS = 15_000

const MAX_DRAINED_BYTES = 256 * 1024 * 1024

/**
 * For a request that was answered before its body was read completely. Closing at once would make the
 * kernel reset the connection and the client lose the answer, and many clients read nothing until they
 * have sent everything. So the rest is read and discarded, within limits.
 */
async function drainRequest(request: IncomingMessage, silenceMs = MAX_DRAIN_MS): Promise<void> {
  if (request.complete || request.destroyed) return
  const { promise: enough, resolve } = Promise.withResolvers<void>()
  let bytesLeft = MAX_DRAINED_BYTES
  const deadline = setTimeout(resolve, MAX_DRAIN_MS).unref()
  const silence = setTimeout(resolve, silenceMs).unref()
  request.once('end', resolve).once('close', resolve)
  request.on('error', () => {})
  request.on('data', (chunk: Buffer) => {
    silence.refresh()
    bytesLeft -= chunk.length
    if (bytesLeft < 0) resolve()
  })
  arriveInTurns(request)
  request.resume()
  await enough
  clearTimeout(deadline)
  clearTimeout(silence)
}
