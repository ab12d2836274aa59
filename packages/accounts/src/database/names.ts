// Twice the longest address in UTF-16 units; no stored name is longer. Longer text is not normalised,
// because that takes quadratic time on hostile input.
const LONGEST_COMPOSED = 508

/**
 * The form in which a username or e-mail address is stored and looked up: trimmed, in lower case and in
 * NFC, because keyboards differ in how they encode an accent. PostgreSQL refuses NUL in a parameter, so it
 * becomes a character that no stored name contains.
 */
export function normalName(name: string): string {
  const lower = name.trim().toLowerCase()
  const composed = lower.length > LONGEST_COMPOSED ? lower : lower.normalize('NFC')
  return composed.replaceAll('\0', '\ufffd')
}
