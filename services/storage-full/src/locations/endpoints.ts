import { lookup as lookUp } from 'node:dns/promises'
import { networkMatcher } from '@plinth/kit'

/** Object stores that an administrator may name: these only, or any when there are none. */
export type EndpointRules = { named: string[]; production: boolean }

export type IsForbidden = (address: string) => boolean

// Addresses by which a machine in a cloud reads its own credentials.
const METADATA = ['linklocal', 'fd00:ec2::/32']

/** Nothing here is on the internet (RFC 6890); the last two hide an IPv4 address. */
const INTERNAL = [
  ...METADATA,
  'loopback',
  'uniquelocal',
  '0.0.0.0/8',
  '100.64.0.0/10',
  '192.0.0.0/24',
  '198.18.0.0/15',
  '224.0.0.0/3',
  '::/127',
  'fec0::/10',
  'ff00::/8',
  '64:ff9b::/96',
  '2002::/16',
]

const isMetadata = networkMatcher(METADATA)
const isInternal = networkMatcher(INTERNAL)

/**
 * The addresses that an endpoint must not lead to: otherwise an administrator could make this
 * service call whatever it can reach. An operator who names the endpoint allows all of them.
 */
export function forbiddenFor(endpoint: string, { named, production }: EndpointRules): IsForbidden {
  if (named.includes(endpoint)) return () => false
  return production ? isInternal : isMetadata
}

export function faultOfEndpoint(endpoint: string, rules: EndpointRules): string | undefined {
  const url = URL.canParse(endpoint) ? new URL(endpoint) : undefined
  if (!url || !/^https?:$/.test(url.protocol)) return 'must start with http:// or https://'
  if (url.username || url.password || url.search || url.hash)
    return 'must be an address without user, query or fragment'
  if (rules.named.length > 0 && !rules.named.includes(endpoint))
    return 'is not one of the allowed stores'
  return undefined
}

/** A name that is not known leads nowhere yet: the test of the settings says so. */
export async function leadsInside(endpoint: string, rules: EndpointRules): Promise<boolean> {
  if (rules.named.includes(endpoint)) return false
  const isForbidden = forbiddenFor(endpoint, rules)
  const found = await lookUp(hostOf(endpoint), { all: true }).catch(() => [])
  return found.some(({ address }) => isForbidden(address))
}

/** The host of an endpoint as the resolver takes it: an IPv6 address without brackets. */
export function hostOf(endpoint: string): string {
  return new URL(endpoint).hostname.replace(/^\[|\]$/g, '')
}
