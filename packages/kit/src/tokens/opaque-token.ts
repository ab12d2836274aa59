import { createHash, hash, randomBytes, timingSafeEqual } from 'node:crypto'

/** A secret that cannot be guessed: hand it out, keep only its hash. */
export function newOpaqueToken(): string {
  return randomBytes(32).toString('base64url')
}

/**
 * The form in which an opaque token is stored and looked up. A plain hash is enough here: the
 * input has 256 random bits, so there is no dictionary to run against a stolen table.
 */
export function hashOpaqueToken(token: string): string {
  return createHash('sha256').update(token).digest('base64url')
}

/** Digests have the same length, so the comparison does not reveal the length of the secret either. */
export function isSameSecret(given: string, expected: string): boolean {
  const digest = (text: string) => hash('sha256', text, 'buffer')
  return timingSafeEqual(digest(given), digest(expected))
}
