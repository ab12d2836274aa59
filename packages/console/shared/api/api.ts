import type { IdentityApi, PaymentsApi, StorageApi } from '@plinth/client'
import { concealBody, concealHeaders } from './concealment.ts'
import { FORM, recordOutcome, recordRequest } from './exchange-log.ts'
import { type Received, transmit } from './transport.ts'

export type Call = {
  method: string
  path: string
  json?: unknown
  /** Sent as a form, as OAuth requires. */
  form?: Record<string, string>
  file?: File
  /** Bytes of a file as the whole body: `from` and `to` as in `slice`. */
  piece?: { file: File; from: number; to: number }
  headers?: Record<string, string>
  /** Sent without credentials. */
  open?: boolean
  /** Not retried after a 401: its body contains the token that a renewal replaces. */
  once?: boolean
  /** Not shown in the inspector: polls, thumbnails, and bodies that are too long for it. */
  silent?: boolean
  signal?: AbortSignal
  onProgress?(share: number): void
}

/** A success has the body that the API document describes; anything else has a problem, or no body that we know. */
export type Reply<Body = unknown> = {
  status: number
  headers: Record<string, string>
  content: Blob
} & ({ ok: true; body: Body } | { ok: false; body: Refusal | undefined })

/** Any problem of any service: which members it has depends on its code. */
export type Refusal = Partial<IdentityApi.Problem> &
  IdentityApi.ProblemDetails &
  StorageApi.ProblemDetails &
  PaymentsApi.ProblemDetails & { message?: string }

export type Api = ReturnType<typeof createApi>

type Credentials = {
  headers(): Record<string, string>
  /** Called once after a 401; true when the call should be retried. */
  renew?(): Promise<boolean>
  /** Called when the service asks for a reauthentication; true when the call should be retried. */
  prove?(): Promise<boolean>
}

export function createApi(credentials: Credentials) {
  async function send<Body = unknown>(call: Call): Promise<Reply<Body>> {
    const reply = await renewing<Body>(call)
    if (!asksForProof(reply) || !(await credentials.prove?.())) return reply
    return exchange<Body>(call, credentials, send)
  }

  async function renewing<Body>(call: Call): Promise<Reply<Body>> {
    const reply = await exchange<Body>(call, credentials, send)
    if (reply.status !== 401 || call.open || call.once) return reply
    if (!(await credentials.renew?.())) return reply
    return exchange<Body>(call, credentials, send)
  }
  const shorthand =
    (method: string) =>
    <Body = unknown>(path: string, json?: unknown, rest: Partial<Call> = {}) =>
      send<Body>({ method, path, json, ...rest })

  return {
    send,
    credentials: () => credentials.headers(),
    get: <Body = unknown>(path: string, rest: Partial<Call> = {}) =>
      send<Body>({ method: 'GET', path, ...rest }),
    post: shorthand('POST'),
    put: shorthand('PUT'),
    patch: shorthand('PATCH'),
    delete: <Body = unknown>(path: string, rest: Partial<Call> = {}) =>
      send<Body>({ method: 'DELETE', path, ...rest }),
  }
}

/** The problem that a call was refused with. */
export function problemIn(reply: Reply | undefined): Refusal | undefined {
  return reply?.ok ? undefined : reply?.body
}

export function asksForProof(reply: Reply): boolean {
  return reply.status === 403 && problemIn(reply)?.code === 'REAUTHENTICATION_REQUIRED'
}

async function exchange<Body>(
  call: Call,
  credentials: Credentials,
  send: (call: Call) => Promise<unknown>,
): Promise<Reply<Body>> {
  const headers = requestHeaders(call, credentials)
  const startedAt = performance.now()
  const id = call.silent ? undefined : recordRequest(shown(call, headers, credentials, send))
  const received = await transmit({ ...call, headers, body: requestBody(call) })
  const text = isText(received) ? await received.content.text() : ''
  if (id !== undefined)
    recordOutcome(
      id,
      {
        status: received.status,
        durationMs: performance.now() - startedAt,
        sizeBytes: received.content.size,
        headers: received.headers,
        body: shownBody(received, text),
      },
      call.signal?.aborted,
    )
  const ok = received.status >= 200 && received.status < 300 && !isForeign(received)
  return { ...received, ok, body: parsed(text) } as Reply<Body>
}

function requestHeaders(call: Call, credentials: Credentials): Record<string, string> {
  return {
    ...(call.json === undefined ? {} : { 'Content-Type': 'application/json' }),
    ...(call.form && { 'Content-Type': FORM }),
    ...(call.open ? {} : credentials.headers()),
    ...call.headers,
  }
}

function requestBody(call: Call): string | FormData | Blob | undefined {
  if (call.piece) return call.piece.file.slice(call.piece.from, call.piece.to)
  if (call.file) {
    const form = new FormData()
    form.append('file', call.file)
    return form
  }
  if (call.form) return new URLSearchParams(call.form).toString()
  return call.json === undefined ? undefined : JSON.stringify(call.json)
}

function shown(
  call: Call,
  headers: Record<string, string>,
  credentials: Credentials,
  send: (call: Call) => void,
) {
  return {
    method: call.method,
    path: call.path,
    requestHeaders: concealHeaders(headers),
    requestBody: concealBody(call.json ?? call.form),
    requestFile: call.file && { name: call.file.name, type: call.file.type },
    requestPiece: shownPiece(call.piece),
    credentials: () => (call.open ? {} : credentials.headers()),
    resend: () => send({ ...call, signal: undefined, onProgress: undefined }),
  }
}

function shownPiece(piece: Call['piece']) {
  return piece && { name: piece.file.name, from: piece.from, to: piece.to }
}

function isText({ headers, content }: Received): boolean {
  return content.size < 2_000_000 && /json|^text\//.test(headers['content-type'] ?? '')
}

/** A page of something in front of the service, such as the login of a network: the service names its requests. */
function isForeign({ headers }: Received): boolean {
  return /^text\/html/.test(headers['content-type'] ?? '') && !headers['x-request-id']
}

/** A body as the inspector shows it: indented, with every secret replaced by a placeholder. */
function shownBody({ headers, content }: Received, text: string): string {
  if (/json/.test(headers['content-type'] ?? '') && text !== '')
    return JSON.stringify(concealBody(parsed(text)), null, 2)
  if (text === '' && content.size > 0) return `(${content.size} bytes of ${content.type})`
  return text
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}
