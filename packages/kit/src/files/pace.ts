import type { IncomingMessage } from 'node:http'
import { uploadTooSlow } from './problems.ts'

/** How slow a client may be before it is taken for an attack on our connections. */
export type Pace = { windowSeconds: number; minimumBytesPerSecond: number }

/** A modem passes; one byte a second does not. */
export const DEFAULT_PACE: Pace = { windowSeconds: 20, minimumBytesPerSecond: 512 }

export type PaceGuard = { received(bytes: number): void; waiting(): void; stop(): void }

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
