import { createHash } from 'node:crypto'
import { type Claims, readSignedClaims, signClaims } from '@plinth/kit/tokens'
import type { SessionUser } from '../database/client-sessions.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { ID_TOKEN_SECONDS } from '../limits.ts'
import { hintKeys, noteHintKey } from './hint-keys.ts'
import { ACR_ONE_FACTOR, ACR_TWO_FACTORS, type OpenId } from './openid.ts'

type IdTokenFacts = {
  client: Client
  user: SessionUser
  sessionId: number
  scopes: string[]
  amr: string[]
  authenticatedAt: Date
  nonce: string | null
  accessToken: string
}

export type SignIdToken = (facts: IdTokenFacts) => Promise<string>

/** Loads the key first, so that signing cannot fail after a code or refresh token was spent. */
export async function prepareIdTokens(
  openid: OpenId,
  { idTokenAlg: alg }: Client,
): Promise<SignIdToken> {
  const { idTokenKeys, accounts, issuer, clock } = openid
  const keys = alg === 'RS256' ? idTokenKeys : accounts.signingKeys
  const key = await keys.current()
  const { kid, privateKey } = key
  if (alg === 'ES256') await noteHintKey(openid, key)
  return (facts) => {
    const { client, user, sessionId, scopes, amr, authenticatedAt, nonce, accessToken } = facts
    const iat = Math.floor(clock().getTime() / 1000)
    const claims = {
      iss: issuer,
      sub: String(user.id),
      aud: client.clientId,
      exp: iat + ID_TOKEN_SECONDS,
      iat,
      auth_time: Math.floor(authenticatedAt.getTime() / 1000),
      ...(nonce !== null && { nonce }),
      sid: String(sessionId),
      amr,
      acr: acrOf(amr),
      at_hash: halfHash(accessToken),
      ...claimsOf(user, scopes),
    }
    return signClaims(claims, { alg, typ: 'JWT', kid }, privateKey)
  }
}

export function acrOf(amr: string[]): string {
  return amr.includes('mfa') ? ACR_TWO_FACTORS : ACR_ONE_FACTOR
}

type Described = Pick<SessionUser, 'username' | 'email' | 'verified' | 'roles'>

/** The same in ID tokens and at userinfo: some clients read only one of them. */
export function claimsOf(user: Described, scopes: string[]) {
  return {
    ...(scopes.includes('profile') && { name: user.username, preferred_username: user.username }),
    ...(scopes.includes('email') && { email: user.email, email_verified: user.verified }),
    ...(scopes.includes('roles') && { roles: user.roles }),
  }
}

/** An ID token that a client sends back to say which user it means; it may have expired. */
export async function readHint(openid: OpenId, token: string): Promise<Claims | undefined> {
  const { idTokenKeys, accounts, issuer } = openid
  const rules = { types: ['jwt'] }
  const ecdsa = { ...rules, algorithms: ['ES256'] }
  const claims =
    (await readSignedClaims(token, idTokenKeys, { ...rules, algorithms: ['RS256'] })) ??
    (await readSignedClaims(token, accounts.signingKeys, ecdsa)) ??
    (await readSignedClaims(token, hintKeys(openid), ecdsa))
  return claims?.iss === issuer ? claims : undefined
}

export async function subjectOfHint(openid: OpenId, token: string): Promise<string | undefined> {
  const claims = await readHint(openid, token)
  return typeof claims?.sub === 'string' ? claims.sub : undefined
}

/** OpenID Connect Core, section 3.1.3.6: half of the hash that the signature uses. */
function halfHash(token: string): string {
  return createHash('sha256').update(token).digest().subarray(0, 16).toString('base64url')
}
