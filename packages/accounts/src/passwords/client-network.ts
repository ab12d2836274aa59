import { isIPv6 } from 'node:net'

/**
 * Who counts as one client: an IPv4 address, or a /64 of IPv6, since whoever has one address of it
 * has all of them.
 */
export function clientNetwork(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped) return mapped
  return isIPv6(address) ? expand(address).slice(0, 4).join(':') : address
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
