type Comparison = (listed: string, etag: string) => boolean

// RFC 9110, section 8.8.3.2.
export const strongly: Comparison = (listed, etag) => listed === etag

export const weakly: Comparison = (listed, etag) => listed.replace(/^W\//, '') === etag

/** Whether `If-Match` or `If-None-Match` lists the strong tag `etag`. */
export function listsTag(header: string, etag: string, matches: Comparison): boolean {
  if (header.trim() === '*') return true
  return (header.match(/(?:W\/)?"[^"]*"/g) ?? []).some((listed) => matches(listed, etag))
}
