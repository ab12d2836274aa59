/** What the browser stores for the next page: choices about how pages look, never a secret. */
export function remember(name: string, value: string): void {
  try {
    localStorage.setItem(name, value)
  } catch {
    // The browser allows this site no storage, so the next page starts with the default.
  }
}

/** Empty if nothing is stored. */
export function remembered(name: string): string {
  try {
    return localStorage.getItem(name) ?? ''
  } catch {
    return ''
  }
}
