import { lookup } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkMatcher } from './networks.ts'

/** Where this service may send requests to addresses that its callers choose. */
export type AddressRules = {
  /** Allows only https and addresses on the internet. */
  production: boolean
  /** Additional networks that endpoints may be in. */
  allowCidrs: string[]
}

/** Not on the internet, according to the special-purpose address registries (RFC 6890). */
const SPECIAL_V4 = [
  '0.0.0.0/8',
  '10.0.0.0/8',
  '100.64.0.0/10',
  '127.0.0.0/8',
  '169.254.0.0/16',
  '172.16.0.0/12',
  '192.0.0.0/24',
  '192.0.2.0/24',
  '192.88.99.0/24',
  '192.168.0.0/16',
  '198.18.0.0/15',
  '198.51.100.0/24',
  '203.0.113.0/24',
  '224.0.0.0/3',
]

/**
 * The only IPv6 range allocated as global unicast. It excludes ranges that embed an IPv4 address, such as
 * ::ffff:0:0/96 and 64:ff9b::/96.
 */
const GLOBAL_V6 = ['2000::/3']
/** Teredo and other protocols, documentation, and 6to4, which embeds an IPv4 address. */
const SPECIAL_V6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20']

const isSpecialV4 = networkMatcher(SPECIAL_V4)
const isSpecialV6 = networkMatcher(SPECIAL_V6)
const isGlobalV6 = networkMatcher(GLOBAL_V6)
const isLoopbackAddress = networkMatcher(['loopback'])

/** Recognises addresses that would let callers reach the internal network through this service (SSRF). */
export function forbiddenBy({
  production,
  allowCidrs,
}: AddressRules): (address: string) => boolean {
  const isAllowed = networkMatcher(allowCidrs)
  return (address) => {
    if (isAllowed(address)) return false
    if (!production && isLoopbackAddress(address)) return false
    if (isIP(address) === 4) return isSpecialV4(address)
    return !isGlobalV6(address) || isSpecialV6(address)
  }
}

const MAX_URL = 2048

/** The reason why nothing may be sent to a URL. Checked when it is set; `guardAgent` checks each connection. */
export async function faultOfUrl(text: string, rules: AddressRules): Promise<string | undefined> {
  const url = URL.canParse(text) ? new URL(text) : undefined
  if (!url || text.length > MAX_URL) return `must be an address of at most ${MAX_URL} characters`
  // The parser encodes or removes them, but the text is what is stored, and PostgreSQL accepts no NUL.
  if (/[\s\p{C}]/u.test(text)) return 'must have no white space and no control characters'
  const isPlain = url.protocol === 'http:' && !rules.production
  if (url.protocol !== 'https:' && !isPlain) return 'must start with https://'
  if (url.username || url.password) return 'must not have a user or a password'
  if (url.hash) return 'must not have a fragment'
  const isForbidden = forbiddenBy(rules)
  const host = url.hostname.replace(/^\[|\]$/g, '')
  if (isIP(host)) return isForbidden(host) ? INSIDE : undefined
  const found = await lookup(host, { all: true }).catch(() => [])
  if (found.length === 0) return 'has a host that cannot be resolved'
  return found.some(({ address }) => isForbidden(address)) ? INSIDE : undefined
}

const INSIDE = 'points to an address that is not on the internet'
