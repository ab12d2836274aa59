import type * as nodeHttp from 'node:http'
import {
  type AddressRules,
  ForbiddenAddressError,
  forbiddenBy,
  guardAgent,
  http,
  https,
} from '@plinth/kit/runtime'
import { MAX_REPLY_BYTES } from '../limits.ts'

/** The outcome of one POST: either a status or an error. */
export type Sent = {
  status: number | null
  error: string | null
  /** The beginning of the reply. */
  reply: string | null
  retryAfter: string | undefined
  /** What the receiver asks for in the header `webhook-delivery`. */
  instruction: string | undefined
}

export type Send = (
  url: string,
  request: { headers: Record<string, string>; body: string; signal: AbortSignal },
) => Promise<Sent>

const REPLY_CHARACTERS = 1024

/**
 * Posts to endpoints. Follows no redirects, ignores the proxy settings of the environment, and connects
 * only to checked addresses.
 */
export function createSender(
  rules: AddressRules,
  timeoutMs: number,
): { send: Send; close(): void } {
  const isForbidden = forbiddenBy(rules)
  const options = { keepAlive: true, maxFreeSockets: 32 }
  const agents = {
    'http:': guardAgent(new http.Agent(options), isForbidden),
    'https:': guardAgent(new https.Agent(options), isForbidden),
  }
  const send: Send = async (url, { headers, body, signal }) => {
    const target = new URL(url)
    const isPlain = target.protocol === 'http:'
    if (isPlain && rules.production) return failed('the address is not https')
    if (signal.aborted) return failed(STOPPED)
    try {
      const request = (isPlain ? http : https).request(target, {
        method: 'POST',
        agent: isPlain ? agents['http:'] : agents['https:'],
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Plinth-Webhooks/1',
          ...headers,
        },
      })
      return await answerTo(request, body, { signal, timeoutMs })
    } catch (error) {
      return failed(explain(error))
    }
  }
  const close = () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { send, close }
}

/** The attempt was aborted because this service is stopping: it says nothing about the endpoint. */
export const STOPPED = 'this service was stopped'

type Limits = { signal: AbortSignal; timeoutMs: number }

/** Uses its own timer: `AbortSignal.any` takes longer than the rest of the request. */
function answerTo(
  request: nodeHttp.ClientRequest,
  body: string,
  { signal, timeoutMs }: Limits,
): Promise<Sent> {
  const { promise, resolve } = Promise.withResolvers<Sent>()
  const end = (sent: Sent) => {
    clearTimeout(timer)
    signal.removeEventListener('abort', stop)
    resolve(sent)
  }
  const giveUp = (reason: string) => {
    end(failed(reason))
    request.destroy()
  }
  const stop = () => giveUp(STOPPED)
  const late = `no complete reply within ${timeoutMs / 1000} seconds`
  const timer = setTimeout(giveUp, timeoutMs, late)
  signal.addEventListener('abort', stop)
  request
    .on('response', (response) => readReply(response, end))
    .on('error', (error) => end(failed(explain(error))))
    .end(body)
  return promise
}

function readReply(response: nodeHttp.IncomingMessage, end: (sent: Sent) => void): void {
  const chunks: Buffer[] = []
  let bytes = 0
  const done = () => end(replyOf(response, Buffer.concat(chunks)))
  response
    .on('data', (chunk: Buffer) => {
      chunks.push(chunk)
      bytes += chunk.length
      if (bytes <= MAX_REPLY_BYTES) return
      done()
      response.destroy()
    })
    .on('end', done)
    .on('error', (error) => end(failed(explain(error))))
}

function replyOf({ headers, statusCode }: nodeHttp.IncomingMessage, body: Buffer): Sent {
  const { 'retry-after': retryAfter, 'webhook-delivery': instruction } = headers
  // PostgreSQL cannot store NUL in text.
  const text = body.toString().slice(0, REPLY_CHARACTERS).replaceAll('\0', '')
  return {
    status: statusCode ?? null,
    error: null,
    reply: text === '' ? null : text,
    retryAfter,
    instruction: typeof instruction === 'string' ? instruction : undefined,
  }
}

export function failed(error: string): Sent {
  return { status: null, error, reply: null, retryAfter: undefined, instruction: undefined }
}

function explain(error: unknown): string {
  if (error instanceof ForbiddenAddressError) return 'the address is not on the internet'
  const { code, message = '' } = error as NodeJS.ErrnoException
  return (code || message).slice(0, 200)
}
