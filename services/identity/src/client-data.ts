import { decodeBase64url } from './base64url.ts'

/** What the browser says about the page that asked; signed by the authenticator with the rest. */
type ClientData = { challenge: string; framed: boolean }

/**
 * Reads the parts that must be known before a verifier can be asked: the challenge, to look it up,
 * and whether the page sat in somebody else's frame, which this service never does.
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
