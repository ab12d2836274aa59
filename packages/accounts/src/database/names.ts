// Twice the longest address in UTF-16 units; nobody has a longer name. Composing the letters of
// hostile text takes time that grows with the square of its length.
const LONGEST_COMPOSED = 508

/**
 * How a username or an e-mail address is stored and looked up: without the spaces around it, in
 * lower case, and with letters composed, since keyboards differ in how they type an accent.
 * PostgreSQL cannot even compare with a NUL, so it becomes a character that no stored name has.
 */
export function normalName(name: string): string {
  const lower = name.trim().toLowerCase()
  const composed = lower.length > LONGEST_COMPOSED ? lower : lower.normalize('NFC')
  return composed.replaceAll('\0', '\ufffd')
}
