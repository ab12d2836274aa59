import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hostName, isLoopback, networkMatcher } from '../../runtime/networks.ts'
import type { Request } from '../framework.ts'
import { readForwarded } from './forwarded.ts'

export type AddressOptions = {
  /** What clients reach the service by; it may have a path. */
  publicUrl?: string
  /** Further names under which it may be asked. */
  allowedHosts?: string[]
  trustedProxies?: string[]
}

export type RewriteUrl = (request: { method?: string; url?: string }) => string

/** A request whose base path is known. */
export type Placed = IncomingMessage & { basePath?: string; target?: string }

export type TargetRewriting = (request: IncomingMessage) => string

/**
 * Finds the base path of each request. That of the public URL is removed from the target, so that a
 * proxy may strip it or not; `X-Forwarded-Prefix` names what has been stripped, and if it could
 * remove anything here, a client could send one to get around the rules that a proxy has for paths.
 * `ownSegments` are the first segments of our own routes.
 */
export function removeBasePath(
  { publicUrl, trustedProxies = [], rewriteUrl }: AddressOptions & { rewriteUrl?: RewriteUrl },
  ownSegments: Set<string>,
): TargetRewriting | undefined {
  const publicPath = publicUrl ? new URL(publicUrl).pathname.replace(/\/+$/, '') : ''
  if (publicPath === '' && trustedProxies.length === 0) return rewriteUrl
  const isTrusted = networkMatcher(trustedProxies)
  return (request: Placed) => {
    const trusted = isTrusted(request.socket.remoteAddress ?? '')
    if (trusted) readForwarded(request.headers, isTrusted)
    const { method, url = '/' } = request
    // Where it is mounted at another server, that one has found the base path.
    if (request.target === undefined) {
      request.basePath = (trusted ? forwardedPrefix(request.headers) : undefined) ?? publicPath
      request.target = isBelow(url, publicPath, ownSegments) ? below(url, publicPath) : url
    }
    return rewriteUrl?.({ method, url: request.target }) ?? request.target
  }
}

/**
 * A base path may look like a path of our own: with `/api`, the target `/api/users` has lost its
 * base path already, and `/api/api/users` has not. `/api` alone is our own path then, not the index.
 */
function isBelow(url: string, basePath: string, ownSegments: Set<string>): boolean {
  if (basePath === '' || !isAtOrBelow(url, basePath)) return false
  if (!ownSegments.has(firstSegment(basePath))) return true
  const segment = firstSegment(below(url, basePath))
  return segment !== '' && ownSegments.has(segment)
}

export function isAtOrBelow(url: string, path: string): boolean {
  return url.startsWith(path) && /^([/?]|$)/.test(url.slice(path.length))
}

export function below(url: string, basePath: string): string {
  const rest = url.slice(basePath.length)
  return rest.startsWith('/') ? rest : `/${rest}`
}

export function firstSegment(path: string): string {
  return /^\/([^/?]*)/.exec(path)?.[1] ?? ''
}

/** What proxies removed, the outermost first. Only what is plainly a path: it goes into headers. */
function forwardedPrefix({ 'x-forwarded-prefix': given }: IncomingHttpHeaders): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined
  const path = given
    .split(',')
    .map((part) => part.trim().replace(/\/$/, ''))
    .join('')
  return /^(\/(?!\.\.?(\/|$))[\w.~%-]+)*$/.test(path) ? path : undefined
}

/** Goes before every path that a reply names: `/identity`, or nothing. */
export function basePathOf({ raw }: Pick<Request, 'raw'>): string {
  return (raw as Placed).basePath ?? ''
}

/** The target as it was sent, without the base path. */
export function targetOf({ raw, originalUrl }: Pick<Request, 'raw' | 'originalUrl'>): string {
  return (raw as Placed).target ?? originalUrl
}

/** The path as the client asked for it. */
export function requestedPath(request: Pick<Request, 'raw' | 'originalUrl'>): string {
  return basePathOf(request) + (targetOf(request).split('?', 1)[0] ?? '')
}

/**
 * Where the client of a request finds this service. The `Host` of a stranger is not repeated: what
 * it names is the client's claim, and a cache or a log would believe it.
 */
export function baseUrls({ publicUrl, allowedHosts = [], trustedProxies = [] }: AddressOptions) {
  const isTrusted = networkMatcher(trustedProxies)
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()))
  const isKnown = (name: string) => isLoopback(name) || names.has(name)
  return (request: Request): string => {
    const { protocol, host, socket } = request
    const believed = isTrusted(socket.remoteAddress ?? '') || isKnown(hostName(host))
    if (publicUrl !== undefined && !believed) return publicUrl
    return `${protocol === 'https' ? 'https' : 'http'}://${host}${basePathOf(request)}`
  }
}
