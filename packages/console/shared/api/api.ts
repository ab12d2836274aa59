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

/**
 * Calls operations of an API document by their paths: `get('/api/users/{id}', { path: { id } })`. `Replies` is
 * generated from the document, so the compiler knows each path, its parameters and its reply.
 *
 * `out`, because the compiler would compare two of them too loosely: one serves as another only if it has the
 * operations of the other, with the same replies.
 */
export type Api<out Replies> = {
  get: Operations<Replies, 'GET'>
  post: Operations<Replies, 'POST'>
  put: Operations<Replies, 'PUT'>
  patch: Operations<Replies, 'PATCH'>
  delete: Operations<Replies, 'DELETE'>
  /** A request of any kind, for replies that have no body or are not looked into. */
  send(call: Call): Promise<Reply>
  credentials(): Record<string, string>
}

type Operations<Replies, Method extends string> = Calls<{
  [Operation in keyof Replies as Operation extends `${Method} ${infer Path}`
    ? Path
    : never]: Replies[Operation]
}>

type Calls<Bodies> = <Path extends keyof Bodies & string>(
  path: Path,
  ...given: Given<Path>
) => Promise<Reply<Bodies[Path]>>

type Given<Path> = Path extends `${string}{${string}`
  ? [call: Options & { path: PathParameters<NameIn<Path>> }]
  : [call?: Options]

type PathParameters<Name extends string> = Record<Name, string | number>

/** The parameters in a path: `id` in `/api/users/{id}`. */
type NameIn<Path> = Path extends `${string}{${infer Name}}${infer Rest}`
  ? Name | NameIn<Rest>
  : never

export type Options = Omit<Call, 'method' | 'path'> & { query?: string | URLSearchParams }

type Credentials = {
  headers(): Record<string, string>
  /** Called once after a 401; true when the call should be retried. */
  renew?(): Promise<boolean>
  /** Called when the service asks for a reauthentication; true when the call should be retried. */
  prove?(): Promise<boolean>
  /** The path below which the service answers, if it shares the address of this page with others. */
  below?: string
}

export function createApi<Replies>(credentials: Credentials): Api<Replies> {
  async function send<Body>(call: Call): Promise<Reply<Body>> {
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

  const { below = '' } = credentials
  const calls =
    (method: string) =>
    <Body>(template: string, { path = {}, query = '', ...rest }: AnyOptions = {}) =>
      send<Body>({ method, path: below + addressOf(template, path, String(query)), ...rest })

  return {
    send,
    credentials: () => credentials.headers(),
    get: calls('GET'),
    post: calls('POST'),
    put: calls('PUT'),
    patch: calls('PATCH'),
    delete: calls('DELETE'),
  }
}

type AnyOptions = Options & { path?: PathParameters<string> }

function addressOf(template: string, path: PathParameters<string>, query: string): string {
  const address = template.replaceAll(/\{(\w+)\}/g, (_, name) =>
    encodeURIComponent(String(path[name])),
  )
  return query === '' ? address : `${address}?${query}`
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
