/**
 * Reads base64url in its one canonical spelling. Decoders differ in what they make of any other
 * (padding, `+`, line breaks), so two of them could read two things from one text: what is checked
 * here and what the verifier acts on must be the same bytes.
 */
export function decodeBase64url(text: unknown): Buffer<ArrayBuffer> | undefined {
  if (typeof text !== 'string') return undefined
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}
