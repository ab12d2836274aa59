import type * as nodeHttp from 'node:http'
import { ForbiddenAddressError, guardAgent, http, https } from '@plinth/kit'
import { forbiddenBy } from '../endpoints/address.ts'
import type { AddressRules } from '../events.ts'

/** What came of one POST; either a status or an error. */
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
/** A longer reply is not read, and its connection not used again. */
const MOST_REPLY_BYTES = 65_536

/**
 * Posts to endpoints: follows no redirect, uses no proxy of the environment, and connects to checked
 * addresses only.
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
    const { protocol } = new URL(url)
    const isPlain = protocol === 'http:'
    if (isPlain && rules.production) return failed('the address is not https')
    const timeout = AbortSignal.timeout(timeoutMs)
    try {
      const request = (isPlain ? http : https).request(url, {
        method: 'POST',
        agent: isPlain ? agents['http:'] : agents['https:'],
        signal: AbortSignal.any([timeout, signal]),
        headers: {
          'content-type': 'application/json',
          'content-length': Buffer.byteLength(body),
          'user-agent': 'Plinth-Webhooks/1',
          ...headers,
        },
      })
      const {
        promise: response,
        resolve,
        reject,
      } = Promise.withResolvers<nodeHttp.IncomingMessage>()
      request.once('response', resolve).once('error', reject)
      request.end(body)
      return await readReply(await response)
    } catch (error) {
      if (signal.aborted) return failed(STOPPED)
      if (timeout.aborted) return failed(`no whole answer within ${timeoutMs / 1000} seconds`)
      return failed(explain(error))
    }
  }
  const close = () => {
    for (const agent of Object.values(agents)) agent.destroy()
  }
  return { send, close }
}

/** The attempt was broken off because this service stops: it says nothing about the endpoint. */
export const STOPPED = 'this service was stopped'

async function readReply(response: nodeHttp.IncomingMessage): Promise<Sent> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of response) {
    chunks.push(chunk)
    bytes += chunk.length
    if (bytes > MOST_REPLY_BYTES) break
  }
  const { 'retry-after': retryAfter, 'webhook-delivery': instruction } = response.headers
  // PostgreSQL stores no NUL.
  const text = Buffer.concat(chunks).toString().slice(0, REPLY_CHARACTERS).replaceAll('\0', '')
  return {
    status: response.statusCode ?? null,
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
