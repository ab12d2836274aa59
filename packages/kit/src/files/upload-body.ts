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
  const guard = guardSpeed(minimumSpeed)
  try {
    await Promise.race([passOn(request, { maxBytes, guard }, take), guard.tooSlow])
  } finally {
    guard.stop()
  }
}

async function passOn(
  request: IncomingMessage,
  { maxBytes, guard }: { maxBytes: number; guard: SpeedGuard },
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
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

type SpeedGuard = {
  /** Rejects once the client is too slow, even if it sends nothing at all. */
  tooSlow: Promise<never>
  received(bytes: number): void
  waiting(): void
  stop(): void
}

/** How many times a silent client is checked in each window. */
const LOOKS = 20

/**
 * Finds a client whose body arrives too slowly. It may fall one window behind the minimum speed, and what
 * it sends beyond that speed does not count in advance, so a client that stops is cut off after one
 * window. Only the time spent waiting for the client counts: our own slow disk is not its fault, and a
 * long upload is never too long.
 */
export function guardSpeed(
  { windowSeconds, bytesPerSecond }: MinimumSpeed,
  now: () => number = () => performance.now(),
): SpeedGuard {
  const windowMs = windowSeconds * 1000
  const { promise: tooSlow, reject } = Promise.withResolvers<never>()
  let waitingSince: number | undefined = now()
  let leftMs = windowMs

  const look = () => {
    if (waitingSince === undefined) return
    const time = now()
    leftMs -= time - waitingSince
    waitingSince = time
    if (leftMs <= 0) reject(uploadTooSlow())
  }
  const looking = setInterval(look, windowMs / LOOKS).unref()

  return {
    tooSlow,
    received: (bytes) => {
      look()
      // Nothing is stored any more, not even what arrives before the connection is closed.
      if (leftMs <= 0) throw uploadTooSlow()
      waitingSince = undefined
      leftMs = Math.min(windowMs, leftMs + (bytes * 1000) / bytesPerSecond)
    },
    waiting: () => {
      waitingSince = now()
    },
    stop: () => clearInterval(looking),
  }
}
