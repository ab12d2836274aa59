import type { IncomingMessage, ServerResponse } from 'node:http'

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
