import { sign } from 'node:crypto'
import type { Clock } from '@plinth/kit/runtime'
import type { AppleKey } from '../settings.ts'

const LIFETIME_SECONDS = 300

/** Apple's client secret: a token that we sign for each request, instead of one that expires after six months. */
export function appleSecret(
  { teamId, keyId, privateKey }: AppleKey,
  { clientId, issuer }: { clientId: string; issuer: string },
  clock: Clock,
): string {
  const iat = Math.floor(clock().getTime() / 1000)
  const claims = { iss: teamId, iat, exp: iat + LIFETIME_SECONDS, aud: issuer, sub: clientId }
  const content = [{ alg: 'ES256', kid: keyId }, claims].map(encoded).join('.')
  const key = { key: privateKey, dsaEncoding: 'ieee-p1363' } as const
  return `${content}.${sign('sha256', Buffer.from(content), key).toString('base64url')}`
}

function encoded(part: object): string {
  return Buffer.from(JSON.stringify(part)).toString('base64url')
}
