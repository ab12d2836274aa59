import { lookup } from 'node:dns'
import type { Agent } from 'node:http'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** Importing `node:http` would also load fetch and WebSocket: 70 ms and 15 MB at every start. */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

const LOOPBACK_NAME = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

const NETWORKS: Record<string, string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/** Whether an address is in one of these networks, given as CIDR or by a name such as `loopback`. */
export function networkMatcher(networks: string[]): (address: string) => boolean {
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

/**
 * Whether `outer` contains the whole network: it contains its first address, and is at least as wide.
 * An IPv4 network equals the network of its IPv4-mapped addresses.
 */
export function isNetworkWithin(network: string, outer: string): boolean {
  const [address = ''] = network.split('/')
  return mappedBits(network) >= mappedBits(outer) && networkMatcher([outer])(address)
}

/** The prefix length of the network as an IPv6 network. */
function mappedBits(network: string): number {
  const [address = '', bits] = network.split('/')
  return isIP(address) === 6 ? Number(bits ?? 128) : 96 + Number(bits ?? 32)
}

/** Accepts an address as a socket reports it, or the name in a `Host` header. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(isIP(host) === 6 ? `[${host}]` : host)
}

/** Other names of this machine: mail servers deliver to them locally by default. */
const LOCAL_DOMAIN = /(^|\.)localhost[46]?(\.localdomain[46]?)?$/

/** Whether an e-mail address is on this machine, where someone else may read its mail. */
export function isLocalAddress(email: string): boolean {
  const domain = hostName(email.slice(email.lastIndexOf('@') + 1))
  return isLoopback(domain) || LOCAL_DOMAIN.test(domain)
}

/** The name in a `Host` header, without the port. */
export function hostName(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** The host is, or resolves to, a forbidden address. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ForbiddenAddress'
}

/**
 * Checks every address when connecting to it: a name may resolve to another address by then (DNS
 * rebinding). No connection to a forbidden address is opened.
 */
export function guardAgent<A extends Agent>(
  agent: A,
  isForbidden: (address: string) => boolean,
): A {
  const connect = agent.createConnection.bind(agent)
  const lookup = guardedLookup(isForbidden)
  agent.createConnection = (options, callback) => {
    const host = options.host ?? ''
    if (!isIP(host) || !isForbidden(host)) return connect({ ...options, lookup }, callback)
    process.nextTick(() => callback?.(new ForbiddenAddressError(), undefined as never))
    return undefined
  }
  return agent
}

function guardedLookup(isForbidden: (address: string) => boolean): LookupFunction {
  return (hostname, options, callback) =>
    lookup(hostname, options, (error, address, family) => {
      const found = Array.isArray(address) ? address.map((one) => one.address) : [address]
      const forbidden = !error && found.some(isForbidden)
      callback(forbidden ? new ForbiddenAddressError() : error, address as string, family)
    })
}
