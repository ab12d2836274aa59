import type { IncomingMessage } from 'node:http'
import { finished } from 'node:stream'
import { endOfTurn } from '../end-of-turn.ts'
import { Problem } from '../problem.ts'
import { guardPace, type Pace } from './pace.ts'
import { uploadAborted, uploadTooLarge } from './problems.ts'

export type BodyLimits = { maxBytes: number; pace: Pace }

/**
 * Hands over a body, at once when all of it came together with its headers, and otherwise as it
 * comes. Waits first for the end of the turn, so that small bodies are dealt with one after another.
 */
export async function readBody(
  request: IncomingMessage,
  limits: BodyLimits,
  take: (chunk: Buffer) => Promise<unknown> | undefined,
): Promise<void> {
  await endOfTurn()
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
