import type { Readable } from 'node:stream'
import type { SpoolReading } from '@plinth/kit/files'
import { storageUnavailable } from '../problems.ts'

/** How fast a store writes to its disks, at least. */
export const STORED_BYTES_PER_MS = 10_000

/** The body of a reply from the store, with its connection. */
export type ObjectBody = Readable & { complete: boolean; socket: { bytesRead: number } }

/** Silence is looked for this many times within its limit, so that it is noticed a tenth later at most. */
const LOOKS = 10

/**
 * Ends a download when the store has stopped sending; `askedAt` is when the silence before the first byte
 * began. A slow reader does not end it, because received bytes are still buffered. The bytes do not pass
 * through here, so watching them costs nothing.
 */
export function endOnStall(body: ObjectBody, stallMs: number, askedAt: number): Readable {
  let bytesBefore = body.socket.bytesRead
  let heardAt = askedAt
  const look = () => {
    const { bytesRead } = body.socket
    const starved = !body.complete && body.readableLength === 0
    if (!starved || bytesRead !== bytesBefore) heardAt = performance.now()
    bytesBefore = bytesRead
    if (performance.now() - heardAt >= stallMs)
      body.destroy(storageUnavailable({ cause: new Error('The object store stopped sending') }))
  }
  const timer = setInterval(look, stallMs / LOOKS)
  timer.unref()
  body.once('close', () => clearInterval(timer))
  return body
}

/**
 * Aborts an upload that makes no progress; a long one may take as long as it needs. After the last
 * byte the store gets time in proportion to the size, to write everything to its disks.
 * `stop` returns how long the store has been silent.
 */
export function abortOnStall(source: SpoolReading, sizeBytes: number, stallMs: number) {
  const stalled = new AbortController()
  const abort = () => stalled.abort()
  let bytesBefore = 0
  let heardAt = performance.now()
  const look = () => {
    if (source.bytesRead !== bytesBefore) heardAt = performance.now()
    bytesBefore = source.bytesRead
    if (performance.now() - heardAt >= stallMs) abort()
  }
  let timer = setInterval(look, stallMs / LOOKS)
  source.once('end', () => {
    heardAt = performance.now()
    clearInterval(timer)
    timer = setTimeout(abort, stallMs + sizeBytes / STORED_BYTES_PER_MS)
  })
  source.once('error', abort)
  const stop = () => {
    clearInterval(timer)
    return performance.now() - heardAt
  }
  return { signal: stalled.signal, stop }
}
