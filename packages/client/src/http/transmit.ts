type Sent = {
  method: string
  headers: Headers
  body: string | URLSearchParams | Blob | undefined
  signal: AbortSignal
}
type Watch = { onSent?: (bytes: number) => void; fetch?: typeof fetch }

/** The part of XMLHttpRequest that is used here; only browsers have it. */
type Xhr = {
  open(method: string, url: string): void
  setRequestHeader(name: string, value: string): void
  send(body: unknown): void
  abort(): void
  getAllResponseHeaders(): string
  readonly status: number
  readonly responseText: string
  readonly upload: { onprogress: ((event: { loaded: number }) => void) | null }
  onload: (() => void) | null
  onerror: (() => void) | null
  onabort: (() => void) | null
}

/**
 * Sends one request. Fetch does not report upload progress: when that is wanted, browsers use
 * XMLHttpRequest, and other runtimes count the bytes that fetch takes from a stream.
 */
export function transmit(
  url: string,
  sent: Sent,
  { onSent, fetch: given }: Watch,
): Promise<Response> {
  // Called as a method, the browser's fetch throws "Illegal invocation".
  const send = given ?? ((to: string, init: RequestInit) => fetch(to, init))
  if (!onSent || !(sent.body instanceof Blob)) return send(url, sent)
  const { XMLHttpRequest } = globalThis as { XMLHttpRequest?: new () => Xhr }
  if (XMLHttpRequest) return sendByXhr(new XMLHttpRequest(), url, sent, onSent)
  const init = { ...sent, body: counted(sent.body, onSent), duplex: 'half' }
  return send(url, init as RequestInit)
}

function counted(body: Blob, onSent: (bytes: number) => void): ReadableStream<Uint8Array> {
  let bytes = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform(chunk, controller) {
      bytes += chunk.byteLength
      onSent(bytes)
      controller.enqueue(chunk)
    },
  })
  return body.stream().pipeThrough(counter)
}

function sendByXhr(
  request: Xhr,
  url: string,
  { method, headers, body, signal }: Sent,
  onSent: (bytes: number) => void,
): Promise<Response> {
  return new Promise((resolve, reject) => {
    const abort = () => request.abort()
    const end = (settle: () => void) => () => {
      signal.removeEventListener('abort', abort)
      settle()
    }
    request.open(method, url)
    for (const [name, value] of headers) request.setRequestHeader(name, value)
    request.upload.onprogress = ({ loaded }) => onSent(loaded)
    request.onload = end(() => resolve(responseOf(request)))
    request.onerror = end(() => reject(new TypeError('The upload failed')))
    request.onabort = end(() => reject(signal.reason))
    signal.addEventListener('abort', abort)
    request.send(body)
  })
}

function responseOf(request: Xhr): Response {
  const headers = new Headers()
  for (const line of request.getAllResponseHeaders().split('\r\n')) {
    const colon = line.indexOf(':')
    if (colon > 0) headers.append(line.slice(0, colon), line.slice(colon + 1).trim())
  }
  return new Response(request.responseText || null, { status: request.status, headers })
}
