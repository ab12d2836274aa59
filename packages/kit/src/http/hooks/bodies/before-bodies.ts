import type { Readable } from 'node:stream'
import type { Reply, Request, Server } from '../../framework.ts'

export const DEFAULT_BODY_BYTES = 128 * 1024
/** For routes that take credentials or tokens: the body is small, and anyone may send one. */
export const CREDENTIALS_BODY_BYTES = 16 * 1024

type BeforeBody = (
  request: Request,
  reply: Reply,
  payload: Readable,
  done: (error: Error | null, payload?: Readable) => void,
) => void

const BODILESS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether the body of a request is read, if it has one. */
export function readsBody({ method }: { method: string | string[] }): boolean {
  return [method].flat().some((name) => !BODILESS.has(name))
}

/** Skips routes that read no body, where the hook would run for nothing. */
export function beforeBodies(server: Server, hook: BeforeBody): void {
  server.addHook('onRoute', (route) => {
    if (!readsBody(route)) return
    route.preParsing = [...[route.preParsing ?? []].flat(), hook as never]
  })
}

export function hasBody(headers: Record<string, unknown>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}
