import { domainForms } from '@plinth/accounts'
import { isLocalAddress } from '@plinth/kit/runtime'

// Stricter than the rule for registration. Quotes, commas and brackets in an address have made mail
// libraries send to the wrong recipient, or to several.
const LOCAL = /^[A-Za-z0-9!#$%&'*+/=?^_`{|}~.-]{1,64}$/
const DOMAIN = /^[A-Za-z0-9](?:[A-Za-z0-9.-]*[A-Za-z0-9])?$/
const MAX_LENGTH = 254

/** The address in the form passed to the mail server, or `undefined` if we do not send mail to it. */
export function recipientOf(address: string): string | undefined {
  const at = address.lastIndexOf('@')
  const local = address.slice(0, Math.max(at, 0))
  const written = address.slice(at + 1).toLowerCase()
  const { ascii: domain = '' } = domainForms(written) ?? {}
  const recipient = `${local}@${domain}`
  const fits = LOCAL.test(local) && DOMAIN.test(domain) && recipient.length <= MAX_LENGTH
  // RFC 2606: it never exists. Accounts whose address was given back to its owner have such an address.
  const exists = !domain.endsWith('.invalid')
  return fits && exists ? recipient : undefined
}

export function isMailable(address: string): boolean {
  return recipientOf(address) !== undefined
}

/**
 * Like `recipientOf`, for this service: no mail goes to this machine, where others may read it. The outbox of development
 * takes it, because nothing leaves it.
 */
export function recipientFor(
  { production, smtp }: { production: boolean; smtp: object | undefined },
  address: string,
): string | undefined {
  const isKept = !production && smtp === undefined
  return isLocalAddress(address) && !isKept ? undefined : recipientOf(address)
}
