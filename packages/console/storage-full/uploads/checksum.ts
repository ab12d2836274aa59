/** Read whole into memory, so only of files up to this size. */
const MAX_BYTES = 64 * 1024 * 1024

/** The SHA-256 in hexadecimal digits; undefined where it cannot be computed: without https, of a large file. */
export async function checksumOf(file: File): Promise<string | undefined> {
  if (file.size > MAX_BYTES || !globalThis.isSecureContext) return undefined
  // The request that sends the file says that it cannot be read.
  const bytes = await file.arrayBuffer().catch(() => undefined)
  if (!bytes) return undefined
  const digest = new Uint8Array(await crypto.subtle.digest('SHA-256', bytes))
  return [...digest].map((byte) => byte.toString(16).padStart(2, '0')).join('')
}
