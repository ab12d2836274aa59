import type { IncomingMessage } from 'node:http'

const LINGER_MS = 5_000
const LINGER_BYTES = 32 * 1024 * 1024

/**
 * For a request answered before it was read to its end. Closing at once would make the kernel
 * reset the connection and the client lose the answer, so the rest is read and thrown away: a
 * little, for a while.
 */
export function discardRest(request: IncomingMessage): void {
  if (request.complete || request.destroyed) return
  let bytesLeft = LINGER_BYTES
  const timer = setTimeout(() => request.destroy(), LINGER_MS)
  timer.unref()
  request.once('close', () => clearTimeout(timer)).once('end', () => clearTimeout(timer))
  request.on('error', () => {})
  request.on('data', (chunk: Buffer) => {
    bytesLeft -= chunk.length
    if (bytesLeft < 0) request.destroy()
  })
  request.resume()
}
