import type { IncomingHttpHeaders, IncomingMessage } from 'node:http'
import { hostName, isLoopback, networkMatcher } from '../../runtime/networks.ts'
import type { Request } from '../framework.ts'
import { readForwarded } from './forwarded.ts'

export type AddressOptions = {
  /** The URL at which clients reach the service; it may have a path. */
  publicUrl?: string
  /** Further host names under which clients may reach it. */
  allowedHosts?: string[]
  trustedProxies?: string[]
}

export type RewriteUrl = (request: { method?: string; url?: string }) => string

/** A request whose base path is known. */
export type Placed = IncomingMessage & { basePath?: string; target?: string }

export type TargetRewriting = (request: IncomingMessage) => string

/**
 * Finds the base path of each request. The path of the public URL is removed from the target, so a proxy
 * may strip it or leave it. `X-Forwarded-Prefix` only tells what has been stripped: if it removed anything
 * here, a client could send one to bypass the path rules of a proxy. `ownSegments` are the first segments
 * of our own routes. A target in absolute form is reduced to its path and query.
 */
export function removeBasePath(
  { publicUrl, trustedProxies = [], rewriteUrl }: AddressOptions & { rewriteUrl?: RewriteUrl },
  ownSegments: Set<string>,
): TargetRewriting {
  const publicPath = publicUrl ? new URL(publicUrl).pathname.replace(/\/+$/, '') : ''
  const route = (method: string | undefined, url: string) => rewriteUrl?.({ method, url }) ?? url
  if (publicPath === '' && trustedProxies.length === 0)
    return ({ method, url }) => route(method, originForm(url))
  const isTrusted = networkMatcher(trustedProxies)
  return (request: Placed) => {
    const trusted = isTrusted(request.socket.remoteAddress ?? '')
    if (trusted) readForwarded(request.headers, isTrusted)
    const { method } = request
    // Already set if this server is mounted on another, which has then found the base path.
    if (request.target === undefined) {
      const url = originForm(request.url)
      request.basePath = (trusted ? forwardedPrefix(request.headers) : undefined) ?? publicPath
      request.target = isBelow(url, publicPath, ownSegments) ? below(url, publicPath) : url
    }
    return route(method, request.target)
  }
}

/** The path and query of a target, which a client of a proxy sends as `http://host/path` (RFC 9112, 3.2.2). */
function originForm(target = '/'): string {
  if (target.startsWith('/')) return target
  const rest = target.replace(/^[a-z][a-z0-9+.-]*:\/\/[^/?#]*/i, '')
  return rest.startsWith('/') ? rest : `/${rest}`
}

/**
 * A base path may look like a path of our own: with `/api`, a proxy has already stripped it from the
 * target `/api/users`, but not from `/api/api/users`. `/api` alone is then our own path, not the index.
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

/** The prefix that proxies stripped, outermost first. It must be a plain path, because it goes into headers. */
function forwardedPrefix({ 'x-forwarded-prefix': given }: IncomingHttpHeaders): string | undefined {
  if (typeof given !== 'string' || given === '') return undefined
  const path = given
    .split(',')
    .map((part) => part.trim().replace(/\/$/, ''))
    .join('')
  return /^(\/(?!\.\.?(\/|$))[\w.~%-]+)*$/.test(path) ? path : undefined
}

/** The prefix of every path in a reply: `/identity`, or nothing. */
export function basePathOf({ raw }: Pick<Request, 'raw'>): string {
  return (raw as Placed).basePath ?? ''
}

/** The target as it was sent, in origin form and without the base path. */
export function targetOf({ raw, originalUrl }: Pick<Request, 'raw' | 'originalUrl'>): string {
  return (raw as Placed).target ?? originForm(originalUrl)
}

/** The query as it was sent: a value may have a question mark (RFC 3986, section 3.4), and a name may be repeated. */
export function queryOf({ url }: Pick<Request, 'url'>): URLSearchParams {
  const start = url.indexOf('?')
  return new URLSearchParams(start < 0 ? '' : url.slice(start + 1))
}

/** The path as the client requested it. */
export function requestedPath(request: Pick<Request, 'raw' | 'originalUrl'>): string {
  return basePathOf(request) + (targetOf(request).split('?', 1)[0] ?? '')
}

/**
 * The URL at which the client of a request reaches this service. An unknown `Host` is not repeated: it is
 * only the client's claim, and a cache or a log would trust it.
 */
export function baseUrls({ publicUrl, allowedHosts = [], trustedProxies = [] }: AddressOptions) {
  const isTrusted = networkMatcher(trustedProxies)
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()))
  const isKnown = (name: string) => isLoopback(name) || names.has(name)
  return (request: Request): string => {
    const { protocol, host, socket } = request
    const isCredible = isTrusted(socket.remoteAddress ?? '') || isKnown(hostName(host))
    if (publicUrl !== undefined && !isCredible) return publicUrl
    return `${protocol === 'https' ? 'https' : 'http'}://${host}${basePathOf(request)}`
  }
}
