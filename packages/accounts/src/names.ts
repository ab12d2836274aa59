/**
 * How a username or an e-mail address is stored and looked up. PostgreSQL cannot even compare with
 * a NUL, so it becomes a character that no stored name has.
 */
export function normalName(name: string): string {
  return name.trim().toLowerCase().replaceAll('\0', '\ufffd')
}
