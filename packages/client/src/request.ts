import { problemOf } from './problem-error.ts'

export type ClientOptions = {
  /** How long a call may take; downloads only until their headers arrive. Default 30 s. */
  timeoutMs?: number
  fetch?: typeof fetch
}

export type Call = {
  /** Sent as JSON. */
  json?: unknown
  body?: FormData
  headers?: Record<string, string>
  query?: Record<string, string | number | string[] | undefined>
  signal?: AbortSignal
}

/** Sends one request and returns the response, or throws a ProblemError. */
export type Send = (method: string, path: string, call?: Call) => Promise<Response>

export function sender(baseUrl: string, options: ClientOptions = {}): Send {
  const { timeoutMs = 30_000, fetch: send = fetch } = options
  const base = baseUrl.replace(/\/+$/, '')
  return async (method, path, call = {}) => {
    const headers = new Headers(call.headers)
    if (call.json !== undefined) headers.set('content-type', 'application/json')
    const body = call.json === undefined ? call.body : JSON.stringify(call.json)
    // The limit is for the headers: a long download is not a slow answer.
    const late = new AbortController()
    const timer = setTimeout(() => late.abort(new Error('The service did not answer')), timeoutMs)
    const signal = call.signal ? AbortSignal.any([call.signal, late.signal]) : late.signal
    const url = base + path + queryOf(call.query)
    try {
      const response = await send(url, { method, headers, body, signal })
      if (!response.ok) throw await problemOf(response)
      return response
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The JSON of a reply; its type is the service's contract. */
export async function jsonOf<T>(response: Promise<Response>): Promise<T> {
  return (await (await response).json()) as T
}

export async function nothingOf(response: Promise<Response>): Promise<void> {
  await (await response).body?.cancel()
}

function queryOf(query: Call['query']): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of [value ?? []].flat()) parameters.append(name, String(one))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
