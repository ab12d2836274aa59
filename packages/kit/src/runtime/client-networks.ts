import { isIPv6 } from 'node:net'

/**
 * The networks that a client is in, narrowest first. A client with one address of an IPv6 /64 has all of them, and
 * providers assign a /56 or a /48 to one customer. An IPv4 address is a network by itself.
 */
export function clientNetworks(address: string): [narrowest: string, ...wider: string[]] {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return [mapped]
  if (!isIPv6(address)) return [address]
  const [a, b, c, d = '0'] = expand(address)
  const site = Number.parseInt(d, 16) >> 8
  return [`${a}:${b}:${c}:${d}`, `${a}:${b}:${c}:${site.toString(16)}/56`, `${a}:${b}:${c}/48`]
}

/** What counts as one client: an IPv4 address, or an IPv6 /64. */
export function clientNetwork(address: string): string {
  return clientNetworks(address)[0]
}

/** What counts as one customer of a provider: an IPv4 address, or an IPv6 /48. */
export function widestNetwork(address: string): string {
  return clientNetworks(address).at(-1) ?? address
}

function expand(address: string): string[] {
  const [head = '', tail] = address.split('%')[0]?.split('::') ?? []
  const before = head === '' ? [] : head.split(':')
  const after = tail ? tail.split(':') : []
  const zeros = tail === undefined ? 0 : Math.max(0, 8 - before.length - after.length)
  return [...before, ...Array<string>(zeros).fill('0'), ...after].map((group) =>
    group.toLowerCase().replace(/^0+(?=.)/, ''),
  )
}

/**
 * What each network of a client may use, given what the narrowest may: twice as much for the next, and so on. A
 * network thus cannot use up the share of the one around it, and all the networks in a /48 together are worth four.
 */
export function networkShares(
  address: string,
  limit: number,
): { network: string; limit: number }[] {
  return clientNetworks(address).map((network, width) => ({ network, limit: limit * 2 ** width }))
}
