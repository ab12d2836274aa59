import { isLoopback } from '@plinth/kit/runtime'

/** The longest call, and all calls of one sign-in together: the browser waits for them. */
const CALL_MS = 5_000
export const ROUND_MS = 14_000

const MAX_REPLY_BYTES = 512 * 1024

export type Call = 'discovery' | 'keys' | 'token' | 'userinfo'

/** Counts and times each call: `seconds`, and whether an answer came. */
export type Measure = (
  call: { provider: string; call: Call; result: string },
  seconds: number,
) => void

type Outgoing = Omit<RequestInit, 'signal'> & { signal?: AbortSignal }

/**
 * A `fetch` for calls to one provider: bounded in time and size, never redirected. Endpoints come from the provider's
 * own document, so each address is checked like that of the issuer.
 */
export function callsTo(provider: string, { plainHttp, measure }: Rules) {
  return (call: Call) =>
    async (url: string, { signal, ...options }: Outgoing): Promise<Response> => {
      requireAllowed(url, plainHttp)
      const started = performance.now()
      const done = (result: string) =>
        measure({ provider, call, result }, (performance.now() - started) / 1000)
      const timeout = AbortSignal.timeout(CALL_MS)
      try {
        const response = await fetch(url, {
          ...options,
          redirect: 'manual',
          signal: signal ? AbortSignal.any([signal, timeout]) : timeout,
        })
        const body = await boundedBody(response)
        const { status, headers } = response
        done(status < 500 ? 'answered' : 'failed')
        return new Response(body, { status, headers })
      } catch (error) {
        done('failed')
        throw error
      }
    }
}

export type Rules = {
  /** Whether http on this machine is allowed. */
  plainHttp: boolean
  measure: Measure
}

export function requireAllowed(url: string, plainHttp: boolean): void {
  const { protocol, hostname } = new URL(url)
  if (protocol === 'https:') return
  if (protocol === 'http:' && plainHttp && isLoopback(hostname)) return
  throw new Error(`The provider names the address ${url}, which does not start with https://`)
}

async function boundedBody(response: Response): Promise<Uint8Array<ArrayBuffer> | null> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    if (length > MAX_REPLY_BYTES) throw new Error("The provider's answer is too large")
    chunks.push(chunk)
  }
  return length === 0 ? null : new Uint8Array(Buffer.concat(chunks))
}
