import { ConnectionError, ProblemError, problemOf, TimeoutError } from './errors.ts'
import { transmit } from './transmit.ts'

export type ClientOptions = {
  /** How long to wait for an answer; upload progress restarts the time. Default 30 s. */
  timeoutMs?: number | undefined
  /** How often a call that is safe to repeat is retried. Default 2. */
  retries?: number | undefined
  /** The delay before the first retry; it doubles each time, up to 8 s. Default 500. */
  retryDelayMs?: number | undefined
  /** A service key, or a function that returns an access token, for calls without a session. */
  accessToken?: string | (() => string | undefined | Promise<string | undefined>) | undefined
  /** Used instead of the global one, except for uploads in browsers, where only XMLHttpRequest reports progress. */
  fetch?: typeof fetch | undefined
}

export type Call = {
  /** Sent as JSON. */
  json?: unknown
  /** Sent as a form. */
  form?: Record<string, string | undefined>
  body?: Blob
  headers?: Record<string, string>
  query?: Record<string, string | number | boolean | string[] | undefined>
  signal?: AbortSignal | undefined
  timeoutMs?: number | undefined
  /** For a call with a session: its access token must last at least this long when the call starts. */
  lastsMs?: number
  /** Called with the number of bytes of the body sent so far. */
  onSent?(bytes: number): void
  /** The caller reads the body as it arrives; otherwise the call waits for all of it. */
  stream?: boolean
  /** Error statuses that are returned instead of thrown. */
  accept?: number[]
}

/** Sends one request and returns the response, or throws. */
export type Send = (method: string, path: string, call?: Call) => Promise<Response>

const MAX_DELAY_MS = 8_000
const MAX_RETRY_AFTER_SECONDS = 30
const TRANSIENT = [429, 502, 503, 504]
const REPEATABLE = /^(GET|HEAD|PUT|DELETE)$/
/** After these the service may have done what was asked: a proxy did not get its reply. */
const REPLY_LOST = [502, 504]

/**
 * Replies and problems of deletions that were sent again because a reply was lost. The earlier try may
 * have deleted what this one does not find.
 */
const repeatedDeletions = new WeakSet<object>()

export function sender(baseUrl: string, options: ClientOptions = {}): Send {
  const { retries = 2, retryDelayMs = 500 } = options
  const base = baseUrl.replace(/\/+$/, '')
  return async (method, path, call = {}) => {
    const url = base + path + queryOf(call.query)
    const tries = mayRepeat(method, call) ? 1 + retries : 1
    let isReplyLost = false
    const noted = <Answer>(answer: Answer) => {
      if (isReplyLost && method === 'DELETE') noteRepeated(answer)
      return answer
    }
    for (let tried = 1; ; tried++)
      try {
        return noted(await sendOnce(url, { method, ...call }, options))
      } catch (error) {
        noted(error)
        isReplyLost ||= losesReply(error)
        const wait = tried < tries && waitAfter(error, retryDelayMs * 2 ** (tried - 1))
        if (wait === false) throw error
        await pause(wait, call.signal)
      }
  }
}

/** What was thrown may be the reason of an abort, which can be any value. */
function noteRepeated(answer: unknown): void {
  if (answer instanceof Response || answer instanceof ProblemError) repeatedDeletions.add(answer)
}

function mayRepeat(method: string, { headers }: Call): boolean {
  return REPEATABLE.test(method) || headers?.['idempotency-key'] !== undefined
}

async function sendOnce(
  url: string,
  call: Call & { method: string },
  { timeoutMs: usual = 30_000, accessToken, fetch: given }: ClientOptions,
): Promise<Response> {
  const { method, timeoutMs = usual, signal } = call
  const headers = await headersOf(call, accessToken)
  const body = bodyOf(call)
  const stop = new AbortController()
  const abort = () => stop.abort(signal?.reason)
  let timer: ReturnType<typeof setTimeout> | undefined
  let isOver = false
  const wait = () => {
    clearTimeout(timer)
    timer = setTimeout(() => stop.abort(new TimeoutError()), timeoutMs)
  }
  const sentMore = (bytes: number) => {
    // A refusal may arrive before the end of the body, and fetch goes on taking bytes for a while.
    if (isOver) return
    wait()
    call.onSent?.(bytes)
  }
  try {
    signal?.throwIfAborted()
    signal?.addEventListener('abort', abort)
    wait()
    const sent = { method, headers, body, signal: stop.signal }
    const watch = { onSent: call.onSent && sentMore, fetch: given }
    const response = await transmit(url, sent, watch)
    if (!response.ok && !call.accept?.includes(response.status)) throw await problemOf(response)
    return call.stream ? response : await whole(response)
  } catch (error) {
    if (stop.signal.aborted) throw stop.signal.reason
    throw error instanceof ProblemError || signal?.aborted ? error : new ConnectionError(error)
  } finally {
    isOver = true
    clearTimeout(timer)
    // For a stream the signal must still be able to stop the body.
    if (!call.stream) signal?.removeEventListener('abort', abort)
  }
}

async function headersOf(
  { headers: given, json }: Call,
  accessToken: ClientOptions['accessToken'],
) {
  const headers = new Headers()
  for (const [name, value] of Object.entries(given ?? {})) setHeader(headers, name, value)
  if (json !== undefined) headers.set('content-type', 'application/json')
  if (accessToken === undefined || headers.has('authorization')) return headers
  const token = typeof accessToken === 'string' ? accessToken : await accessToken()
  if (token) setHeader(headers, 'authorization', `Bearer ${token}`)
  return headers
}

/** The error of the runtime quotes the value, which may be a secret, or does not say whose it is. */
function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value)
  } catch {
    throw new TypeError(
      `The ${name} header cannot be sent: check the key or token for stray characters`,
    )
  }
}

function bodyOf({ json, form, body }: Call): string | URLSearchParams | Blob | undefined {
  if (json !== undefined) return JSON.stringify(json)
  if (!form) return body
  const fields = Object.entries(form).filter((field): field is [string, string] =>
    Boolean(field[1]),
  )
  return new URLSearchParams(fields)
}

/** The same response with its whole body, so that the timeout and the retries cover the body too. */
async function whole(response: Response): Promise<Response> {
  const { status, headers } = response
  const body = await response.arrayBuffer()
  return new Response(body.byteLength > 0 ? body : null, { status, headers })
}

function losesReply(error: unknown): boolean {
  if (error instanceof ProblemError) return REPLY_LOST.includes(error.status)
  return error instanceof ConnectionError
}

/** Milliseconds, or false when a retry would not help. */
function waitAfter(error: unknown, delay: number): number | false {
  const jittered = Math.min(delay, MAX_DELAY_MS) * (0.5 + Math.random() / 2)
  if (error instanceof ConnectionError) return jittered
  if (!(error instanceof ProblemError) || !TRANSIENT.includes(error.status)) return false
  const { retryAfterSeconds = 0 } = error
  if (retryAfterSeconds > MAX_RETRY_AFTER_SECONDS) return false
  return Math.max(jittered, retryAfterSeconds * 1000)
}

function pause(milliseconds: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    const end = () => {
      clearTimeout(timer)
      signal?.removeEventListener('abort', end)
      if (signal?.aborted) reject(signal.reason)
      else resolve()
    }
    const timer = setTimeout(end, milliseconds)
    signal?.addEventListener('abort', end)
  })
}

/** The JSON of a reply; its type is the service's contract. */
export async function jsonOf<T>(response: Promise<Response>): Promise<T> {
  const reply = await response
  try {
    return (await reply.json()) as T
  } catch {
    // Many web servers answer any path with their front page.
    throw new ConnectionError('what answered sent no JSON; check the address')
  }
}

export async function textOf(response: Promise<Response>): Promise<string> {
  return (await response).text()
}

/** A deletion that an earlier try has done is no failure. */
export async function nothingOf(response: Promise<Response>): Promise<void> {
  try {
    await response
  } catch (error) {
    const isGone = error instanceof ProblemError && error.status === 404
    if (!isGone || !repeatedDeletions.has(error)) throw error
  }
}

/** Whether a deletion found something, in this try or in an earlier one. */
export async function foundOf(response: Promise<Response>): Promise<boolean> {
  const found = await jsonOf<boolean>(response)
  return found || repeatedDeletions.has(await response)
}

/** A segment of a path. A lone surrogate cannot be sent: as in all of the web, U+FFFD takes its place. */
export function segmentOf(text: string): string {
  return encodeURIComponent(text.replace(/\p{Surrogate}/gu, '\ufffd'))
}

export function queryOf(query: Call['query']): string {
  const parameters = new URLSearchParams()
  for (const [name, value] of Object.entries(query ?? {}))
    for (const one of [value ?? []].flat()) parameters.append(name, String(one))
  const text = parameters.toString()
  return text === '' ? '' : `?${text}`
}
