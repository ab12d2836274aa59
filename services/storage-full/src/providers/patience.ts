import { Readable } from 'node:stream'

/**
 * Ends a transfer in which the other side has stopped answering. The time in which nobody asked
 * for bytes does not count: a slow reader is no fault of the store.
 */
export function withPatience(body: Readable, silenceMs: number): Readable {
  const patient = Readable.from(eachChunk(body, silenceMs), { objectMode: false })
  // A generator that was never started does not run its `finally`.
  patient.once('close', () => body.destroy())
  return patient
}

async function* eachChunk(body: Readable, silenceMs: number): AsyncGenerator<Buffer> {
  const chunks = body[Symbol.asyncIterator]()
  while (true) {
    const timer = setTimeout(() => body.destroy(new Error('The store went silent')), silenceMs)
    const { done, value } = await chunks.next().finally(() => clearTimeout(timer))
    if (done) return
    yield value
  }
}

/** Aborts when the source has made no progress for a while: a long transfer is fine, a stuck one not. */
export function abortWhenStuck(source: Readable, silenceMs: number) {
  const stuck = new AbortController()
  const timer = setTimeout(() => stuck.abort(), silenceMs)
  source.on('data', () => timer.refresh())
  source.pause()
  return { signal: stuck.signal, stop: () => clearTimeout(timer) }
}
