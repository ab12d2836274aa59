import { type Call, jsonOf, nothingOf, type Send, segmentOf } from './request.ts'

/** The last argument of every method. */
export type CallOptions = {
  /** Cancels the call. */
  signal?: AbortSignal | undefined
  /** How long to wait for an answer, instead of the client's own time. */
  timeoutMs?: number | undefined
  headers?: Record<string, string> | undefined
}

type Given = Call & { path?: Record<string, string | number> }

/**
 * Calls operations of an API document by their method and path, such as `GET /api/users/{id}`. `Replies` is
 * generated from the document, so the compiler compares it with what each method declares.
 */
export type Calls<Replies> = {
  json<Operation extends keyof Replies>(
    operation: Operation,
    call?: Given,
    options?: CallOptions,
  ): Promise<Replies[Operation]>
  /** For a call whose reply says nothing more. */
  nothing(operation: keyof Replies, call?: Given, options?: CallOptions): Promise<void>
  response(operation: keyof Replies, call?: Given, options?: CallOptions): Promise<Response>
}

export function callsOf<Replies>(send: Send): Calls<Replies> {
  const response: Calls<Replies>['response'] = (operation, call = {}, options) => {
    const [method = '', template = ''] = String(operation).split(' ')
    const path = template.replaceAll(/\{(\w+)\}/g, (_, name: string) =>
      segmentOf(String(call.path?.[name])),
    )
    return send(method, path, withOptions(call, options))
  }
  return {
    json: (...given) => jsonOf(response(...given)),
    nothing: (...given) => nothingOf(response(...given)),
    response,
  }
}

/** Header names in lower case, so that a header of the call replaces the caller's. */
export function withOptions(call: Call, { headers = {}, ...options }: CallOptions = {}): Call {
  const given = Object.entries(headers).map(([name, value]) => [name.toLowerCase(), value])
  return { ...call, ...options, headers: { ...Object.fromEntries(given), ...call.headers } }
}
