import { BlockList, isIP, type Socket } from 'node:net'
import { hostAmbiguous, misdirected } from '../../problems.ts'
import type { Request, Server } from '../framework.ts'

export type HostOptions = {
  /** Where the service listens. */
  host?: string
  publicUrl?: string
  /** Further names under which it may be asked. */
  allowedHosts?: string[]
  trustedProxies?: string[]
}

const LOOPBACK_NAME = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i
const NETWORKS: Record<string, string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/**
 * Against DNS rebinding: a page of any site can point its own name at 127.0.0.1 and read what a
 * service on this machine answers, unless that service looks at the name it is asked under.
 * Health answers under every name, because probes use addresses.
 */
export function checkHosts(server: Server, options: HostOptions): void {
  const isTrusted = networkMatcher(options.trustedProxies ?? [])
  const allowed = allowedNames(options)
  server.addHook('onRequest', (request, _reply, done) => {
    if (countOfHosts(request) > 1) return done(hostAmbiguous())
    const { host = '' } = request.raw.headers
    if (!allowed || allowed(nameOf(host)) || isHealth(request)) return done()
    if (isTrusted(request.socket.remoteAddress ?? '')) return done()
    done(misdirected())
  })
}

/** Whether an address lies in one of these networks; `loopback` and the like are names for some. */
function networkMatcher(networks: string[]): (address: string) => boolean {
  const list = new BlockList()
  for (const network of networks.flatMap((name) => NETWORKS[name] ?? [name])) {
    const [address = '', bits] = network.split('/')
    const family = isIP(address) === 6 ? 'ipv6' : 'ipv4'
    list.addSubnet(address, Number(bits ?? (family === 'ipv6' ? 128 : 32)), family)
  }
  return (address) => {
    const plain = address.replace(/^::ffff:(?=\d+\.)/, '')
    const family = isIP(plain)
    return family !== 0 && list.check(plain, family === 6 ? 'ipv6' : 'ipv4')
  }
}

/** Nothing where every name will do: a service that listens beyond this machine, and names none. */
function allowedNames({ host, publicUrl, allowedHosts = [] }: HostOptions) {
  if (host === undefined) return undefined
  if (!isLoopback(host) && allowedHosts.length === 0) return undefined
  const names = new Set(allowedHosts.map((name) => name.toLowerCase()))
  if (publicUrl) names.add(new URL(publicUrl).hostname)
  return (name: string) => LOOPBACK_NAME.test(name) || names.has(name)
}

export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(isIP(host) === 6 ? `[${host}]` : host)
}

function nameOf(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** Node keeps the first of several Host headers; another server on the way may keep the last. */
function countOfHosts({ raw: { rawHeaders } }: Request): number {
  let count = 0
  for (let index = 0; index < rawHeaders.length; index += 2)
    if (rawHeaders[index]?.length === 4 && rawHeaders[index]?.toLowerCase() === 'host') count += 1
  return count
}

function isHealth({ url }: Request): boolean {
  return /^\/actuator\/health(\/|$)/.test(url)
}

export type ConnectionLimits = {
  maxConnections?: number
  maxConnectionsPerAddress?: number
  trustedProxies?: string[]
}

/** Connections beyond these are closed at once. A trusted proxy speaks for many clients. */
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
    const count = open.get(address) ?? 0
    if (total >= maxConnections || (count >= maxConnectionsPerAddress && !isTrusted(address))) {
      socket.destroy()
      return
    }
    total += 1
    open.set(address, count + 1)
    socket.once('close', () => {
      total -= 1
      const left = (open.get(address) ?? 1) - 1
      if (left > 0) open.set(address, left)
      else open.delete(address)
    })
  })
}
