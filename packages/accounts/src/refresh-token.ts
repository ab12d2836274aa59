import { randomBytes } from 'node:crypto'
import { hashOpaqueToken } from '@plinth/kit'

/**
 * 32 random bytes in two parts. The first 15 name the session's family and stay through every
 * rotation, so that a replay of any earlier token is recognised with one row per session; the
 * other 17 are the secret and are new each time. Only hashes of either are stored.
 */
const FAMILY_BYTES = 15
const SECRET_BYTES = 17
const FAMILY_LENGTH = 20

export function newRefreshToken(): string {
  return randomBytes(FAMILY_BYTES + SECRET_BYTES).toString('base64url')
}

export function nextRefreshToken(token: string): string {
  return familyPart(token) + randomBytes(SECRET_BYTES).toString('base64url')
}

export function refreshTokenHashes(token: string): { tokenFamily: string; tokenHash: string } {
  return { tokenFamily: hashOpaqueToken(familyPart(token)), tokenHash: hashOpaqueToken(token) }
}

function familyPart(token: string): string {
  return token.slice(0, FAMILY_LENGTH)
}
