import { randomInt } from 'node:crypto'
import { setTimeout } from 'node:timers/promises'
import type { SpoolReading } from '@plinth/kit/files'
import { isBrokenConnection, storageUnavailable } from '../problems.ts'
import { faultCode, httpStatus, isStoreFault } from './object-client.ts'
import { abortOnStall } from './object-stalls.ts'
import type { SourceFile } from './provider.ts'

export type Target = { Bucket: string; Key: string }

/** Random, so that uploads that were refused together do not return together; the SDK waits as long. */
const BUSY_MS = 500
const BUSY = new Set([429, 500, 502, 503, 504])

type SendOptions = { abortSignal: AbortSignal; requestTimeout: number }
type SendBody<T> = (body: SpoolReading, options: SendOptions) => Promise<T>

/**
 * Sends bytes to the store. It is retried once, from the start, after a broken connection or an answer that asks for
 * it; the SDK itself never retries a stream. Both attempts share the time for which the store may stay silent.
 */
export async function sendContent<T>(
  content: Pick<SourceFile['content'], 'sizeBytes' | 'read'>,
  answerMs: number,
  send: SendBody<T>,
): Promise<T> {
  const silence = { leftMs: answerMs }
  const sendOnce = () => sendInTime(content, silence, send)
  return orUnavailable(
    sendOnce().catch(async (error) => {
      if (isBusy(error)) await setTimeout(randomInt(BUSY_MS))
      else if (!isBrokenConnection(error)) throw error
      return sendOnce()
    }),
  )
}

/** The answers after which the SDK retries other calls: `SlowDown`, `InternalError` and those of proxies. */
function isBusy(error: unknown): boolean {
  return BUSY.has(httpStatus(error) ?? 0)
}

async function sendInTime<T>(
  content: Pick<SourceFile['content'], 'sizeBytes' | 'read'>,
  silence: { leftMs: number },
  send: SendBody<T>,
): Promise<T> {
  const body = await content.read()
  const progress = abortOnStall(body, content.sizeBytes, silence.leftMs)
  try {
    // Only a lack of progress times out: a large file may take as long as it needs.
    return await send(body, { abortSignal: progress.signal, requestTimeout: 0 })
  } catch (error) {
    throw body.errored ?? error // If reading the disk failed, that is why the call was aborted.
  } finally {
    silence.leftMs -= progress.stop()
    body.destroy()
  }
}

export async function orAbsent<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work
  } catch (error) {
    if (httpStatus(error) === 404 && faultCode(error) !== 'NoSuchBucket') return undefined
    throw asStoreFault(error)
  }
}

export function orUnavailable<T>(work: Promise<T>): Promise<T> {
  return work.catch((error) => Promise.reject(asStoreFault(error)))
}

/** The SDK's errors contain the host, the signed request and sometimes the access key, so none is kept. */
function asStoreFault(error: unknown): unknown {
  if (storageUnavailable.is(error) || !isStoreFault(error)) return error
  const status = httpStatus(error)
  const answer = status === undefined ? '' : ` (HTTP ${status})`
  const cause = new Error(`The object store answered ${faultCode(error)}${answer}`)
  return storageUnavailable({ cause })
}
