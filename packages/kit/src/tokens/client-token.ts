import { randomUUID } from 'node:crypto'
import { decodeJwt, decodeProtectedHeader, errors, jwtVerify, SignJWT } from 'jose'
import type { Clock } from '../runtime/clock.ts'
import type { SigningKeys } from './signing-keys.ts'

/** A program that calls with a service key. */
type TokenClient = { clientId: string; keyId: number; scopes: string[] }

export type ClientTokenClaims = TokenClient & { iat: number; exp: number; jti: string }

type ClientTokenRules = {
  issuer: string
  audience: string
  clock: Clock
  lifetimeSeconds: number
}

export type ClientTokens = ReturnType<typeof createClientTokens>

const ALGORITHM = 'ES256'

/**
 * Access tokens for programs (RFC 9068): others verify them with the published keys alone. They have
 * no session and no user, so they are never mistaken for a user's.
 */
export function createClientTokens(rules: ClientTokenRules, keys: SigningKeys) {
  const { issuer, audience, clock, lifetimeSeconds } = rules
  return {
    lifetimeSeconds,

    async sign({ clientId, keyId, scopes }: TokenClient): Promise<string> {
      const { kid, privateKey } = await keys.current()
      const iat = Math.floor(clock().getTime() / 1000)
      const about = { iss: issuer, aud: audience, iat, exp: iat + lifetimeSeconds }
      const who = { sub: clientId, client_id: clientId, key_id: keyId, scope: scopes.join(' ') }
      return new SignJWT({ ...about, ...who, jti: randomUUID() })
        .setProtectedHeader({ alg: ALGORITHM, typ: 'at+jwt', kid })
        .sign(privateKey)
    },

    async verify(token: string): Promise<ClientTokenClaims | undefined> {
      const options = { audience, algorithms: [ALGORITHM], typ: 'at+jwt', currentDate: clock() }
      try {
        const { kid } = decodeProtectedHeader(token)
        const key = kid === undefined ? undefined : await keys.find(kid)
        if (!key) return undefined
        const { payload } = await jwtVerify(token, key, options)
        return claimsOf(payload)
      } catch (error) {
        // jose throws a TypeError for a token that is not a JWT at all.
        if (error instanceof errors.JOSEError || error instanceof TypeError) return undefined
        throw error
      }
    },
  }
}

/** Without verifying it: decides only who verifies it. */
export function looksLikeClientToken(token: string): boolean {
  try {
    return typeof decodeJwt(token).key_id === 'number'
  } catch (error) {
    if (error instanceof errors.JOSEError || error instanceof TypeError) return false
    throw error
  }
}

/** A user's token has a session claim and no key claim. */
function claimsOf(payload: Record<string, unknown>): ClientTokenClaims | undefined {
  const { sub, key_id, scope, iat, exp, jti } = payload
  if (typeof sub !== 'string' || typeof key_id !== 'number' || 'sid' in payload) return undefined
  const times = { iat: Number(iat), exp: Number(exp), jti: String(jti) }
  return { clientId: sub, keyId: key_id, scopes: String(scope).split(' '), ...times }
}
