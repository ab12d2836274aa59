// Twice the longest address in UTF-16 units; no stored name is longer. Normalising hostile text takes
// quadratic time.
const LONGEST_COMPOSED = 508

/**
 * How a username or an e-mail address is stored and looked up: trimmed, in lower case and in NFC,
 * because keyboards differ in how they type an accent. PostgreSQL refuses a NUL in a parameter, so it
 * becomes a character that no stored name contains.
 */
export function normalName(name: string): string {
  const lower = name.trim().toLowerCase()
  const composed = lower.length > LONGEST_COMPOSED ? lower : lower.normalize('NFC')
  return composed.replaceAll('\0', '\ufffd')
}
