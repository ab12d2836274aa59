/** What the browser reports about the ceremony's page; the authenticator's signature covers it. */
type ClientData = { challenge: string; framed: boolean }

/**
 * Reads what is needed before the verifier runs: the challenge, to look it up, and whether another site
 * framed the page, which pages of this service never allow.
 */
export function readClientData(encoded: unknown): ClientData | undefined {
  const bytes = decodeBase64url(encoded)
  if (!bytes) return undefined
  try {
    const json: Record<string, unknown> = JSON.parse(bytes.toString('utf8'))
    const { challenge, crossOrigin, topOrigin } = json
    if (typeof challenge !== 'string') return undefined
    return { challenge, framed: Boolean(crossOrigin) || topOrigin !== undefined }
  } catch {
    return undefined
  }
}

/**
 * Accepts only canonical base64url. Decoders disagree about other forms (padding, `+`, line breaks), and the
 * bytes checked here must be the bytes the verifier reads.
 */
export function decodeBase64url(text: unknown): Buffer<ArrayBuffer> | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
