/** The source that a content security policy names for an address. Browsers ignore one with an IPv6 address. */
export function policySource(address: string): string {
  const { origin, protocol, hostname } = new URL(address)
  return origin === 'null' || hostname.startsWith('[') ? protocol : origin
}
