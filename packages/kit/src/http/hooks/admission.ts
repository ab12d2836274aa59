import type { Socket } from 'node:net'
import { hostAmbiguous, hostMissing, misdirected } from '../../problems.ts'
import { networkShares } from '../../runtime/client-networks.ts'
import { hostName, isLoopback, networkMatcher } from '../../runtime/networks.ts'
import type { AddressOptions } from '../address/base-path.ts'
import type { Request, Server } from '../framework.ts'

export type HostOptions = AddressOptions & {
  /** Where the service listens. */
  host?: string
}

/** Allowed names are cached: clients use few of them, and checking one takes four patterns. */
const MAX_KNOWN = 100

/**
 * Against DNS rebinding: any web site can point its own name at 127.0.0.1 and read the answers of a
 * service on this machine, unless that service checks the `Host` header. Health checks may use any
 * name, because probes use IP addresses.
 */
export function checkHosts(server: Server, options: HostOptions): void {
  const isTrusted = networkMatcher(options.trustedProxies ?? [])
  const isAllowed = allowedNames(options)
  const known = new Set<string>()
  const allows = (host: string) => {
    if (!isAllowed || known.has(host)) return true
    if (!isAllowed(hostName(host))) return false
    if (known.size < MAX_KNOWN) known.add(host)
    return true
  }
  server.addHook('onRequest', (request, _reply, done) => {
    const count = countOfHosts(request)
    if (count > 1) return done(hostAmbiguous())
    if (count === 0 && request.raw.httpVersion === '1.1') return done(hostMissing())
    const { host = '' } = request.raw.headers
    if (allows(host) || isHealth(request)) return done()
    if (isTrusted(request.socket.remoteAddress ?? '')) return done()
    done(misdirected())
  })
}

/** Nothing if every name is allowed: the service listens beyond this machine, and no names are configured. */
function allowedNames({ host, publicUrl, allowedHosts = [] }: HostOptions) {
  if (host === undefined) return undefined
  if (!isLoopback(host) && allowedHosts.length === 0) return undefined
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()))
  if (publicUrl) names.add(new URL(publicUrl).hostname)
  return (name: string) => isLoopback(name) || names.has(name)
}

/** Node keeps the first of several Host headers; another server on the way may keep the last. */
function countOfHosts({ raw: { rawHeaders } }: Request): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1
  return count
}

function isHealth({ url }: Request): boolean {
  return /^\/actuator\/health([/?]|$)/.test(url)
}

export type ConnectionLimits = {
  maxConnections?: number
  maxConnectionsPerAddress?: number
  trustedProxies?: string[]
}

/**
 * Connections beyond these are closed at once. The limit per address is one per network, too: who has one IPv6
 * address has many. Trusted proxies, with many clients each, have no limit per address.
 */
export function limitConnections(
  server: Server,
  {
    maxConnections = Number.POSITIVE_INFINITY,
    maxConnectionsPerAddress = Number.POSITIVE_INFINITY,
    trustedProxies = [],
  }: ConnectionLimits,
): void {
  const isTrusted = networkMatcher(trustedProxies)
  const open = new Map<string, number>()
  let total = 0
  server.server.prependListener('connection', (socket: Socket) => {
    const address = socket.remoteAddress ?? ''
    const shares = isTrusted(address) ? [] : networkShares(address, maxConnectionsPerAddress)
    const isFull = shares.some(({ network, limit }) => (open.get(network) ?? 0) >= limit)
    if (total >= maxConnections || isFull) {
      socket.destroy()
      return
    }
    total += 1
    for (const { network } of shares) open.set(network, (open.get(network) ?? 0) + 1)
    socket.once('close', () => {
      total -= 1
      for (const { network } of shares) {
        const left = (open.get(network) ?? 1) - 1
        if (left > 0) open.set(network, left)
        else open.delete(network)
      }
    })
  })
}
