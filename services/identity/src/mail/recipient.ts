import { domainToASCII } from 'node:url'

// Stricter than what may be registered. A quote, a comma or a bracket in an address has made mail
// libraries send to somebody else, or to several.
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const LONGEST = 254

/** The address as it is given to the mail server, or `undefined` when mail is not sent to it. */
export function recipientOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0))
  const domain = domainToASCII(address.slice(at + 1))
  const recipient = `${local}@${domain}`
  const fits = LOCAL.test(local) && DOMAIN.test(domain) && recipient.length <= LONGEST
  return fits ? recipient : undefined
}

export function isMailable(address: string): boolean {
  return recipientOf(address) !== undefined
}
