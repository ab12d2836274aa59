import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { Problem } from '../problems.ts'
import { uploadAborted, uploadTooLarge, uploadTooSlow } from './problems.ts'

/** How slow a client may be before it is taken for an attack on our connections. */
export type Pace = { windowSeconds: number; minimumBytesPerSecond: number }

/** A modem passes; one byte a second does not. */
export const DEFAULT_PACE: Pace = { windowSeconds: 20, minimumBytesPerSecond: 512 }

type PaceGuard = { received(bytes: number): void; waiting(): void; stop(): void }

/**
 * Cuts a request whose body trickles. Only the time spent waiting for the client counts: a slow
 * disk of ours is not the client's fault, and a long honest upload is never too long.
 */
export function guardPace(
  request: Pick<IncomingMessage, 'destroy'>,
  pace: Pace,
  now: () => number = () => performance.now(),
): PaceGuard {
  const windowMs = pace.windowSeconds * 1000
  let waitingSince: number | undefined = now()
  let waitedMs = 0
  let bytesSeen = 0

  const judge = () => {
    if (waitedMs < windowMs) return
    if ((bytesSeen * 1000) / waitedMs < pace.minimumBytesPerSecond) request.destroy(uploadTooSlow())
    waitedMs = 0
    bytesSeen = 0
  }
  const silence = setInterval(() => {
    if (waitingSince === undefined) return
    waitedMs += now() - waitingSince
    waitingSince = now()
    judge()
  }, windowMs)
  silence.unref()

  return {
    received: (bytes) => {
      bytesSeen += bytes
      if (waitingSince !== undefined) waitedMs += now() - waitingSince
      waitingSince = undefined
      judge()
    },
    waiting: () => {
      waitingSince = now()
    },
    stop: () => clearInterval(silence),
  }
}

type BodyLimits = { maxBytes: number; pace: Pace }

/**
 * Hands over a body, at once when all of it came together with its headers, and otherwise as it
 * comes.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  if (!request.complete) return receiveBody(request, limits, take)
  if (request.readableLength > limits.maxBytes) throw uploadTooLarge()
  for (let chunk = request.read(); chunk !== null; chunk = request.read()) await take(chunk)
}

/**
 * Hands over a body as it comes, within the limits of size and pace, and waits whenever `take`
 * answers with a promise. By events: an iterator would cost more than all that is done with a chunk.
 * The connection outlives a refusal: the client has yet to read why.
 */
async function receiveBody(
  request: IncomingMessage,
  { maxBytes, pace }: BodyLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  const { promise: over, resolve, reject } = Promise.withResolvers<void>()
  const guard = guardPace(request, pace)
  let bytesSeen = 0
  const goOn = () => {
    guard.waiting()
    request.resume()
  }
  const receive = (chunk: Buffer) => {
    guard.received(chunk.length)
    bytesSeen += chunk.length
    if (bytesSeen > maxBytes) throw uploadTooLarge()
    const taken = take(chunk)
    if (!taken) return guard.waiting()
    request.pause()
    taken.then(goOn, reject)
  }
  const onData = (chunk: Buffer) => {
    try {
      receive(chunk)
    } catch (error) {
      request.off('data', onData).pause()
      reject(error)
    }
  }
  const forget = finished(request, { writable: false }, (error) => {
    if (!error) resolve()
    else reject(error instanceof Problem ? error : uploadAborted({ cause: error }))
  })
  request.on('data', onData)
  await over.finally(() => {
    forget()
    guard.stop()
    request.off('data', onData).pause()
  })
}
