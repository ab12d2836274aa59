import type { IncomingMessage } from 'node:http'
import { Problem } from '../problems.ts'
import { uploadAborted, uploadTooLarge, uploadTooSlow } from './problems.ts'

/** A client slower than this is treated as an attack that ties up our connections. */
export type MinimumSpeed = { windowSeconds: number; bytesPerSecond: number }

/** A modem is faster; an attacker that sends one byte a second is not. */
export const DEFAULT_MINIMUM_SPEED: MinimumSpeed = { windowSeconds: 20, bytesPerSecond: 512 }

type BodyLimits = { maxBytes: number; minimumSpeed: MinimumSpeed }

/**
 * Passes on a body as it arrives, within the limits of size and speed. A refusal leaves the
 * connection open, because the client has yet to read the answer.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  // A small body usually arrives with its headers, and Node parses it as soon as this call yields.
  await undefined
  if (!request.complete) return receiveBody(request, limits, take)
  // Without the iterator a 10 KB upload costs a third less.
  if (request.readableLength > limits.maxBytes) throw uploadTooLarge()
  for (let chunk = request.read(); chunk !== null; chunk = request.read()) await take(chunk)
}

async function receiveBody(
  request: IncomingMessage,
  { maxBytes, minimumSpeed }: BodyLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  const guard = guardSpeed(request, minimumSpeed)
  let bytesSeen = 0
  try {
    for await (const chunk of request.iterator({ destroyOnReturn: false })) {
      guard.received(chunk.length)
      bytesSeen += chunk.length
      if (bytesSeen > maxBytes) throw uploadTooLarge()
      if (waiting > 0 || !turnHasTime()) await nextTurn()
      await take(chunk)
      guard.waiting()
    }
  } catch (error) {
    if (error instanceof Problem || !request.destroyed) throw error
    throw uploadAborted({ cause: error })
  } finally {
    guard.stop()
  }
}

const TURN_MS = 10
let turnEnd: number | undefined
let waiting = 0

/**
 * Whether uploads have time left in this turn of the event loop. All of them share one limit: without
 * it, hundreds of uploads would starve new requests such as health checks.
 */
function turnHasTime(): boolean {
  const now = performance.now()
  if (turnEnd === undefined) {
    turnEnd = now + TURN_MS
    setImmediate(() => {
      turnEnd = undefined
    })
  }
  return now < turnEnd
}

async function nextTurn(): Promise<void> {
  waiting += 1
  do await new Promise((resolve) => setImmediate(resolve))
  while (!turnHasTime())
  waiting -= 1
}

type SpeedGuard = { received(bytes: number): void; waiting(): void; stop(): void }

/**
 * Cuts off a request whose body arrives too slowly. Only the time spent waiting for the client counts:
 * our own slow disk is not the client's fault, and a long upload is never too long.
 */
export function guardSpeed(
  request: Pick<IncomingMessage, 'destroy'>,
  { windowSeconds, bytesPerSecond }: MinimumSpeed,
  now: () => number = () => performance.now(),
): SpeedGuard {
  const windowMs = windowSeconds * 1000
  let waitingSince: number | undefined = now()
  let waitedMs = 0
  let bytesSeen = 0

  const judge = () => {
    if (waitedMs < windowMs) return
    if ((bytesSeen * 1000) / waitedMs < bytesPerSecond) request.destroy(uploadTooSlow())
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
