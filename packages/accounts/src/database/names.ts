import { domainToASCII, domainToUnicode } from 'node:url'

// Twice the longest address in UTF-16 units; no stored name is longer. Longer text is not normalised,
// because that takes quadratic time on hostile input.
const MAX_COMPOSED = 508

/**
 * The form in which a username or e-mail address is stored and looked up: trimmed, in lower case and in
 * NFC, because keyboards differ in how they encode an accent, and with the domain of an address in Unicode,
 * because `xn--mnchen-3ya.de` is `münchen.de`. PostgreSQL refuses NUL in a parameter, so it becomes a
 * character that no stored name contains.
 */
export function normalName(name: string): string {
  const composed = composedName(name)
  return composed.length > MAX_COMPOSED ? composed : withUnicodeDomain(composed)
}

/** The forms to look up a typed name in: an account of an earlier version keeps its form if the normal one was taken. */
export function formsOf(name: string): string[] {
  return [...new Set([composedName(name), normalName(name)])]
}

function composedName(name: string): string {
  const lower = name.trim().toLowerCase()
  const composed = lower.length > MAX_COMPOSED ? lower : lower.normalize('NFC')
  return composed.replaceAll('\0', '\ufffd')
}

function withUnicodeDomain(name: string): string {
  const at = name.lastIndexOf('@')
  const domain = at === -1 ? undefined : domainForms(name.slice(at + 1))
  return domain ? `${name.slice(0, at)}@${domain.unicode}` : name
}

/** Both forms of a domain in lower case; `undefined` for text that is neither. */
export function domainForms(written: string): { ascii: string; unicode: string } | undefined {
  const ascii = domainToASCII(written)
  // The mapping of domains has upper-case Cherokee letters.
  const decoded = domainToUnicode(ascii).toLowerCase().normalize('NFC')
  // Some invalid `xn--` labels decode to the name of another domain.
  const unicode = domainToASCII(decoded) === ascii ? decoded : ascii
  // `domainToASCII` parses like a URL host: it drops a path, line ends and invisible characters, and decodes
  // `%2e`. Such text is no other spelling of the domain.
  return written === ascii || written === unicode ? { ascii, unicode } : undefined
}
