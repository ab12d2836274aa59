import { AsyncLocalStorage } from 'node:async_hooks'
import { traceHeaders } from '@plinth/kit/tracing'
import type Stripe from 'stripe'
import { startTiming } from '../operation-time.ts'
import { providerFailed, providerUnavailable } from '../problems.ts'
import { type ReplyHead, translateFailure, UnexplainedError } from './failures.ts'

export type StripeOptions = {
  secretKey: string
  /** Another server with the same API; undefined means Stripe itself. */
  apiBase?: string
  /** For one operation: all its calls, with their retries. */
  providerMilliseconds: number
  providerRetries: number
}

/** Runs one call. Fails with one of our Problems, at the latest when the time of its operation is used up. */
export type StripeCall = <T>(send: (stripe: Stripe) => Promise<T>) => Promise<T>

/** The client retries by itself; `tries` counts the tries that may have reached the provider. */
type Call = { tries: number; isOver: boolean }

const current = new AsyncLocalStorage<Call>()

export function createStripeCall(options: StripeOptions, load = loadClient): StripeCall {
  let client: Promise<Stripe> | undefined
  const opened = () => {
    client ??= load(options).catch((error) => {
      client = undefined
      throw error
    })
    return client
  }
  return async (send) => {
    const stripe = await opened()
    const call: Call = { tries: 0, isOver: false }
    const deadline = new AbortController()
    const timed = startTiming(options.providerMilliseconds)
    try {
      return await Promise.race([
        current.run(call, () => send(stripe).then(usable)),
        expiry(timed.leftMilliseconds, deadline.signal),
      ])
    } catch (error) {
      throw translateFailure(error, call.tries)
    } finally {
      call.isOver = true
      deadline.abort()
      timed.stop()
    }
  }
}

/** The client treats any JSON without an `error` as success, whatever the status. */
function usable<T>(reply: T): T {
  const { id, data, lastResponse } = reply as Partial<UsableReply>
  if (lastResponse && lastResponse.statusCode >= 400) throw new UnexplainedError(lastResponse)
  if (typeof id !== 'string' && !Array.isArray(data)) throw providerFailed()
  return reply
}

type UsableReply = { id: unknown; data: unknown; lastResponse: ReplyHead }

function expiry(milliseconds: number, signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => {
    const timer = setTimeout(() => reject(providerUnavailable()), milliseconds)
    signal.addEventListener('abort', () => clearTimeout(timer))
  })
}

// Loading the package takes half a second, so it waits for the first call.
async function loadClient(options: StripeOptions): Promise<Stripe> {
  const { default: Client } = await import('stripe')
  const { path, ...address } = addressOf(options.apiBase)
  return new Client(options.secretKey, {
    ...address,
    timeout: options.providerMilliseconds,
    maxNetworkRetries: options.providerRetries,
    telemetry: false,
    httpClient: countingTries(Client.createNodeHttpClient(), path),
  })
}

function addressOf(apiBase = 'https://api.stripe.com') {
  const { hostname, port, protocol, pathname } = new URL(apiBase)
  const scheme = protocol === 'http:' ? ('http' as const) : ('https' as const)
  return {
    host: hostname,
    port: Number(port) || (scheme === 'http' ? 80 : 443),
    protocol: scheme,
    path: pathname.replace(/\/+$/, ''),
  }
}

type HttpClient = ReturnType<typeof Stripe.createNodeHttpClient>

/** Without a connection the try never reached the provider. */
const NOT_CONNECTED = ['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN']

/** Counts tries, and prefixes each path with the path of the configured address. */
function countingTries(http: HttpClient, basePath: string): HttpClient {
  return {
    getClientName: () => http.getClientName(),
    makeRequest: async (host, port, path, method, headers, ...rest) => {
      const call = current.getStore() ?? { tries: 0, isOver: false }
      // A call already reported as failed must not happen after all.
      if (call.isOver) throw new Error('The deadline of this call has passed.')
      call.tries += 1
      try {
        const traced = { ...headers, ...traceHeaders() }
        return await http.makeRequest(host, port, `${basePath}${path}`, method, traced, ...rest)
      } catch (error) {
        if (NOT_CONNECTED.includes((error as NodeJS.ErrnoException).code ?? '')) call.tries -= 1
        throw error
      }
    },
  }
}
