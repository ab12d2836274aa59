import type { Readable } from 'node:stream'
import type { SpoolReading } from '@plinth/kit'
import { storageUnavailable } from '../problems.ts'

const STORED_BYTES_PER_MS = 10_000

/** An object on its way from the store, with the connection it comes through. */
export type ObjectBody = Readable & { complete: boolean; socket: { bytesRead: number } }

/**
 * Ends a download in which the store has stopped sending. While received bytes wait for a slow
 * reader nothing is held against the store. Watching costs nothing: the bytes flow past it.
 */
export function endOnStall(body: ObjectBody, silenceMs: number): Readable {
  let bytesBefore = -1
  const timer = setInterval(() => {
    const { bytesRead } = body.socket
    const waiting = !body.complete && body.readableLength === 0
    if (waiting && bytesRead === bytesBefore)
      body.destroy(storageUnavailable({ cause: new Error('The object store stopped sending') }))
    bytesBefore = bytesRead
  }, silenceMs)
  timer.unref()
  body.once('close', () => clearInterval(timer))
  return body
}

/**
 * Aborts an upload whose source has made no progress: a long transfer is fine, a stuck one not.
 * After the last byte the store gets time in proportion, to bring them all to its disks.
 */
export function abortOnStall(source: SpoolReading, sizeBytes: number, silenceMs: number) {
  const stuck = new AbortController()
  const abort = () => stuck.abort()
  let bytesBefore = 0
  let timer = setInterval(() => {
    if (source.bytesRead === bytesBefore) abort()
    bytesBefore = source.bytesRead
  }, silenceMs)
  source.once('end', () => {
    clearInterval(timer)
    timer = setTimeout(abort, silenceMs + sizeBytes / STORED_BYTES_PER_MS)
  })
  source.once('error', abort)
  return { signal: stuck.signal, stop: () => clearInterval(timer) }
}
