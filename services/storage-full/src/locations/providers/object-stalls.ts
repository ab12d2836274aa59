import type { Readable } from 'node:stream'
import type { SpoolReading } from '@plinth/kit'
import { storageUnavailable } from '../problems.ts'

const STORED_BYTES_PER_MS = 10_000

/** The body of a reply from the store, with its connection. */
export type ObjectBody = Readable & { complete: boolean; socket: { bytesRead: number } }

/**
 * Ends a download when the store has stopped sending. A slow reader does not end it, because received
 * bytes are still buffered. The bytes do not pass through here, so watching them costs nothing.
 */
export function endOnStall(body: ObjectBody, stallMs: number): Readable {
  let bytesBefore = -1
  const timer = setInterval(() => {
    const { bytesRead } = body.socket
    const starved = !body.complete && body.readableLength === 0
    if (starved && bytesRead === bytesBefore)
      body.destroy(storageUnavailable({ cause: new Error('The object store stopped sending') }))
    bytesBefore = bytesRead
  }, stallMs)
  timer.unref()
  body.once('close', () => clearInterval(timer))
  return body
}

/**
 * Aborts an upload that makes no progress; a long one may take as long as it needs. After the last
 * byte the store gets time in proportion to the size, to write everything to its disks.
 */
export function abortOnStall(source: SpoolReading, sizeBytes: number, stallMs: number) {
  const stalled = new AbortController()
  const abort = () => stalled.abort()
  let bytesBefore = 0
  let timer = setInterval(() => {
    if (source.bytesRead === bytesBefore) abort()
    bytesBefore = source.bytesRead
  }, stallMs)
  source.once('end', () => {
    clearInterval(timer)
    timer = setTimeout(abort, stallMs + sizeBytes / STORED_BYTES_PER_MS)
  })
  source.once('error', abort)
  return { signal: stalled.signal, stop: () => clearInterval(timer) }
}
