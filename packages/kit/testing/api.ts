type ApiOptions = {
  token?: string
  headers?: Record<string, string>
  /** Sent as is; `post`, `put`, `patch` and `deleteWith` take a value to send as JSON instead. */
  body?: string | Uint8Array | FormData | ReadableStream
  signal?: AbortSignal
}

export type ApiReply = {
  status: number
  headers: Headers
  /** Parsed when the reply is JSON, text otherwise. */
  // biome-ignore lint/suspicious/noExplicitAny: a test asserts the shape it expects
  body: any
  bytes: Buffer
}

export type Api = ReturnType<typeof apiFor>

/** A plain HTTP client for tests: no retries, no redirects followed, no status treated as an error. */
export function apiFor(
  baseUrl: string,
  seen?: (method: string, path: string, reply: ApiReply) => void,
) {
  const request = async (method: string, path: string, options: ApiOptions = {}) => {
    const headers = new Headers(options.headers)
    if (options.token !== undefined) headers.set('authorization', `Bearer ${options.token}`)
    const { body, signal } = options
    const init = { method, headers, body, signal, redirect: 'manual', duplex: 'half' }
    const reply = await readReply(await fetch(`${baseUrl}${path}`, init as RequestInit))
    seen?.(method, path, reply)
    return reply
  }
  const withJson =
    (method: string) =>
    (path: string, value?: unknown, options: ApiOptions = {}) => {
      if (value === undefined) return request(method, path, options)
      const headers = { 'content-type': 'application/json', ...options.headers }
      return request(method, path, { ...options, headers, body: JSON.stringify(value) })
    }
  return {
    baseUrl,
    request,
    get: (path: string, options?: ApiOptions) => request('GET', path, options),
    head: (path: string, options?: ApiOptions) => request('HEAD', path, options),
    delete: (path: string, options?: ApiOptions) => request('DELETE', path, options),
    deleteWith: withJson('DELETE'),
    post: withJson('POST'),
    put: withJson('PUT'),
    patch: withJson('PATCH'),
  }
}

async function readReply(response: Response): Promise<ApiReply> {
  const bytes = Buffer.from(await response.arrayBuffer())
  const text = bytes.toString('utf8')
  const json = /[/+]json/.test(response.headers.get('content-type') ?? '')
  const body = json && text !== '' ? JSON.parse(text) : text
  return { status: response.status, headers: response.headers, body, bytes }
}
