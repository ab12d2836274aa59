import type { IncomingMessage } from 'node:http'
import type { Readable } from 'node:stream'

/**
 * Ends a download in which the store has stopped sending. While received bytes wait for a slow
 * reader nothing is held against the store. Watching costs nothing: the bytes flow past it.
 */
export function endWhenSilent(body: IncomingMessage, silenceMs: number): Readable {
  let bytesBefore = -1
  const timer = setInterval(() => {
    const { bytesRead } = body.socket
    const waiting = !body.complete && body.readableLength === 0
    if (waiting && bytesRead === bytesBefore) body.destroy(new Error('The store went silent'))
    bytesBefore = bytesRead
  }, silenceMs)
  timer.unref()
  body.once('close', () => clearInterval(timer))
  return body
}

/** Aborts an upload whose source has made no progress: a long transfer is fine, a stuck one not. */
export function abortWhenStuck(source: Readable, silenceMs: number) {
  const stuck = new AbortController()
  const timer = setTimeout(() => stuck.abort(), silenceMs)
  source.on('data', () => timer.refresh())
  source.pause()
  return { signal: stuck.signal, stop: () => clearTimeout(timer) }
}
