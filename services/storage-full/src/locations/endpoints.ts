import { lookup as lookUp } from 'node:dns/promises'
import { isIP } from 'node:net'
import { networkMatcher } from '@plinth/kit/runtime'

/** `named`: the only object stores that an administrator may configure; any, when the list is empty. */
export type EndpointRules = { named: string[]; production: boolean }

export type IsForbidden = (address: string) => boolean

// Metadata addresses, from which a machine in a cloud reads its own credentials.
const METADATA = ['linklocal', 'fd00:ec2::/32']

/** None of these is on the public internet (RFC 6890); the last two embed an IPv4 address. */
const INTERNAL = [
  ...METADATA,
  'loopback',
  'uniquelocal',
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '2001::/32',
  '2002::/16',
]

/** The only range of IPv6 on the internet. Others embed an IPv4 address too, in more ways than a list could name. */
const GLOBAL_V6 = ['2000::/3']

const isMetadata = networkMatcher(METADATA)
const isListed = networkMatcher(INTERNAL)
const isGlobalV6 = networkMatcher(GLOBAL_V6)
const isInternal = (address: string) =>
  isListed(address) || (isIP(address) === 6 && !isGlobalV6(address))

/**
 * The addresses that an endpoint must not resolve to: otherwise an administrator could make this
 * service call anything it can reach. An endpoint that the operator has named may resolve to any.
 */
export function forbiddenFor(endpoint: string, { named, production }: EndpointRules): IsForbidden {
  if (isNamed(endpoint, named)) return () => false
  return production ? isInternal : isMetadata
}

export function faultOfEndpoint(endpoint: string, rules: EndpointRules): string | undefined {
  if (!/^https?:\/\//i.test(endpoint)) return 'must start with http:// or https://'
  if (!URL.canParse(endpoint) || /[\s\p{Cc}\p{Cs}]/u.test(endpoint)) return 'must be an address'
  const { username, password } = new URL(endpoint)
  if (username || password || /[?#]/.test(endpoint))
    return 'must be an address without user, query or fragment'
  if (rules.named.length > 0 && !isNamed(endpoint, rules.named))
    return 'is not one of the allowed stores'
  return undefined
}

/** One spelling for each address, because a location is found by its endpoint. */
export function normalEndpoint(endpoint: string): string {
  if (!URL.canParse(endpoint)) return endpoint
  const { origin, pathname } = new URL(endpoint)
  return origin + pathname.replace(/\/+$/, '')
}

function isNamed(endpoint: string, named: string[]): boolean {
  return named.map(normalEndpoint).includes(normalEndpoint(endpoint))
}

/** False for a host name that does not resolve: the test of the settings reports that. */
export async function resolvesToForbidden(
  endpoint: string,
  rules: EndpointRules,
): Promise<boolean> {
  if (isNamed(endpoint, rules.named)) return false
  const isForbidden = forbiddenFor(endpoint, rules)
  const found = await lookUp(hostOf(endpoint), { all: true }).catch(() => [])
  return found.some(({ address }) => isForbidden(address))
}

/** The host of an endpoint as the resolver expects it: an IPv6 address has no brackets. */
export function hostOf(endpoint: string): string {
  return new URL(endpoint).hostname.replace(/^\[|\]$/g, '')
}
