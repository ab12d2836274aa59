import { domainToASCII, domainToUnicode } from 'node:url'

// Stricter than what may be registered. A quote, a comma or a bracket in an address has made mail
// libraries send to somebody else, or to several.
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const LONGEST = 254

/** The address as it is given to the mail server, or `undefined` when mail is not sent to it. */
export function recipientOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0))
  const written = address.slice(at + 1).toLowerCase()
  const domain = domainToASCII(written)
  const recipient = `${local}@${domain}`
  const fits = LOCAL.test(local) && DOMAIN.test(domain) && recipient.length <= LONGEST
  // The encoding reads a URL: it drops a path, a line end and invisible characters, and decodes `%2e`. Each of
  // these spellings would be one more address, with limits of its own, of the same inbox.
  const isPlain = written === domain || written === domainToUnicode(domain)
  return fits && isPlain ? recipient : undefined
}

export function isMailable(address: string): boolean {
  return recipientOf(address) !== undefined
}
