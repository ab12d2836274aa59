import { lookup } from 'node:dns'
import type { Agent } from 'node:http'
import { BlockList, isIP, type LookupFunction } from 'node:net'

/** An import of `node:http` would load fetch and WebSocket, too: 70 ms and 15 MB at every start. */
export const http = process.getBuiltinModule('node:http')
export const https = process.getBuiltinModule('node:https')

const LOOPBACK_NAME = /^(localhost|[\w-]+\.localhost|127(\.\d{1,3}){3}|\[::1\])$/i

const NETWORKS: Record<string, string[]> = {
  loopback: ['127.0.0.0/8', '::1/128'],
  linklocal: ['169.254.0.0/16', 'fe80::/10'],
  uniquelocal: ['10.0.0.0/8', '172.16.0.0/12', '192.168.0.0/16', 'fc00::/7'],
}

/** Whether an address lies in one of these networks; `loopback` and the like are names for some. */
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
 * Whether every address of a network lies in another one: then its first does, and it is no wider.
 * An IPv4 network is the same as the one of its IPv4-mapped addresses.
 */
export function isNetworkWithin(network: string, outer: string): boolean {
  const [address = ''] = network.split('/')
  return mappedBits(network) >= mappedBits(outer) && networkMatcher([outer])(address)
}

/** The length of the prefix, in IPv6. */
function mappedBits(network: string): number {
  const [address = '', bits] = network.split('/')
  return isIP(address) === 6 ? Number(bits ?? 128) : 96 + Number(bits ?? 32)
}

/** Takes an address as a socket has it, or the name in a `Host` header. */
export function isLoopback(host: string): boolean {
  return LOOPBACK_NAME.test(isIP(host) === 6 ? `[${host}]` : host)
}

/** The name in a `Host` header, without the port. */
export function hostName(host: string): string {
  return host.replace(/:\d*$/, '').replace(/\.$/, '').toLowerCase()
}

/** A name leads to an address that is not for it. */
export class ForbiddenAddressError extends Error {
  readonly code = 'ForbiddenAddress'
}

/**
 * Checks every address as a connection is made to it: a name may lead elsewhere by then (DNS
 * rebinding). No connection to a forbidden address is begun.
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
