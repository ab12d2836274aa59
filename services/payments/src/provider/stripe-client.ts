import { AsyncLocalStorage } from 'node:async_hooks'
import type Stripe from 'stripe'
import { type ReplyHead, translateFailure, UnexplainedFailure } from './failures.ts'
import { providerFailed, providerUnavailable } from './problems.ts'

export type StripeOptions = {
  secretKey: string
  /** Another server that speaks the same interface; undefined is Stripe itself. */
  apiBase?: string
  providerCallMilliseconds: number
  providerRetries: number
  providerDeadlineMilliseconds: number
}

/** Runs one call and fails with a Problem of ours, at the latest when the deadline passes. */
export type StripeCall = <T>(send: (stripe: Stripe) => Promise<T>) => Promise<T>

/** How often the current call went out: the client tries again by itself. */
const tries = new AsyncLocalStorage<{ count: number }>()

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
    const sent = { count: 0 }
    const deadline = new AbortController()
    try {
      return await Promise.race([
        tries.run(sent, () => send(stripe).then(usable)),
        expiry(options.providerDeadlineMilliseconds, deadline.signal),
      ])
    } catch (error) {
      throw translateFailure(error, { lostTry: sent.count > 1 })
    } finally {
      deadline.abort()
    }
  }
}

/** The client takes any JSON without an `error` for success, whatever the status says. */
function usable<T>(reply: T): T {
  const { id, data, lastResponse } = reply as Partial<UsableReply>
  if (lastResponse && lastResponse.statusCode >= 400) throw new UnexplainedFailure(lastResponse)
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
  const stripe = new Client(options.secretKey, {
    ...addressOf(options.apiBase),
    timeout: options.providerCallMilliseconds,
    maxNetworkRetries: options.providerRetries,
    telemetry: false,
  })
  stripe.on('request', () => {
    const current = tries.getStore()
    if (current) current.count += 1
  })
  return stripe
}

function addressOf(apiBase: string | undefined) {
  if (!apiBase) return {}
  const { hostname, port, protocol } = new URL(apiBase)
  const scheme = protocol === 'http:' ? ('http' as const) : ('https' as const)
  return { host: hostname, port: Number(port) || (scheme === 'http' ? 80 : 443), protocol: scheme }
}
