import { MAX_CLIENT_ADDRESS_LENGTH } from '../limits.ts'

/** Lower case and with a dot, such as `com.example.app`: RFC 8252, section 7.1. */
const PRIVATE_SCHEME = /^[a-z][a-z0-9+-]*(\.[a-z0-9+-]+)+:\/?[^\s]/

const LOOPBACK = /^http:\/\/(127\.0\.0\.1|\[::1\]|localhost)(:\d{1,5})?((?:[/?].*)?)$/

/** Why an address cannot be registered; undefined if it can. */
export function faultOfAddress(text: string): string | undefined {
  if (text.length > MAX_CLIENT_ADDRESS_LENGTH)
    return `must have at most ${MAX_CLIENT_ADDRESS_LENGTH} characters`
  // Browsers read a backslash as a slash, and remove line breaks.
  if (!/^[\x21-\x7e]+$/.test(text) || text.includes('\\')) return 'must have no white space'
  if (/[#*]/.test(text)) return 'must have no fragment and no wildcard'
  if (!URL.canParse(text)) return 'must be an address'
  const url = new URL(text)
  if (url.username || url.password || /^[a-z]+:\/\/[^/?]*@/.test(text))
    return 'must have no user information'
  if (/^https:\/\/[^/?]/.test(text)) return undefined
  if (LOOPBACK.test(text) || PRIVATE_SCHEME.test(text)) return undefined
  return 'must start with https://, a scheme with a dot, or http:// on this machine'
}

/** Equal strings (RFC 9700, section 2.1), but for the port on this machine (RFC 8252, section 7.3). */
export function isRegistered(registered: string[], given: string): boolean {
  return registered.includes(given) || registered.some((one) => isEqualButPort(one, given))
}

/** Compares texts, not parsed addresses: `http://127.0.0.1:1@example.com` must not pass for this machine. */
function isEqualButPort(registered: string, given: string): boolean {
  const one = LOOPBACK.exec(registered)
  const other = LOOPBACK.exec(given)
  if (!one || !other || !URL.canParse(given)) return false
  return one[1] === other[1] && one[3] === other[3]
}

/** Any program on the user's machine can receive answers there (RFC 8252, section 8.6). */
export function canBeImpersonated(address: string): boolean {
  return LOOPBACK.test(address) || !address.startsWith('https://')
}

/** What people see of an address; a private scheme has no host. */
export function shownHost(address: string): string {
  const { host, protocol } = new URL(address)
  return host === '' ? protocol.slice(0, -1) : host
}
