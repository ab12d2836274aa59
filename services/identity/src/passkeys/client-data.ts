/** What the browser reports about the page of a ceremony; covered by the authenticator's signature. */
type ClientData = { challenge: string; framed: boolean }

/**
 * Reads what must be known before the verifier runs: the challenge, to look it up, and whether the
 * page was framed by another site, which pages of this service never are.
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
 * Accepts only the canonical form of base64url. Decoders disagree about other forms (padding, `+`,
 * line breaks), and what is checked here must be the same bytes that the verifier reads.
 */
export function decodeBase64url(text: unknown): Buffer<ArrayBuffer> | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
