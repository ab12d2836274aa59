import { type KeyObject, randomUUID } from 'node:crypto'
import type { Clock } from '../runtime/clock.ts'
import {
  hasValidSignature,
  type ParsedToken,
  type PrivateSigningKey,
  parseToken,
  signToken,
} from './compact-jws.ts'

/** Whom a token speaks for. */
export type TokenSubject = {
  userId: string
  username: string
  roles: string[]
  sessionId: string
}

/** Where public keys come from: this service's own table, or another issuer's published set. */
export type VerificationKeys = { find(kid: string): Promise<KeyObject | undefined> }

type TokenRules = {
  /** Left out where the keys are the service's own: they tell who signed, whatever its address. */
  issuer?: string
  audience: string
  clock: Clock
}

type Verified = { subject: TokenSubject; expiresAtSeconds: number; kid: string; key: KeyObject }

const CACHED_TOKENS = 10_000

// Nodes of one service do not share a clock to the second; nobody's clock is a minute off unnoticed.
const MAX_CLOCK_SKEW_SECONDS = 60

export type SignAccessToken = (subject: TokenSubject) => string

export type AccessTokenSigner = ReturnType<typeof createAccessTokenSigner>

export function createAccessTokenSigner(
  rules: TokenRules & { issuer: string; lifetimeSeconds: number },
  keys: { current(): Promise<PrivateSigningKey> },
) {
  const claimsOf = (subject: TokenSubject) => {
    const issuedAt = Math.floor(rules.clock().getTime() / 1000)
    return {
      iss: rules.issuer,
      aud: rules.audience,
      iat: issuedAt,
      exp: issuedAt + rules.lifetimeSeconds,
      sub: subject.userId,
      username: subject.username,
      roles: subject.roles,
      sid: subject.sessionId,
      jti: randomUUID(),
    }
  }

  /** Has the key before anything is spent for the token: what it returns cannot fail any more. */
  async function prepare(): Promise<SignAccessToken> {
    const key = await keys.current()
    return (subject) => signToken(key, claimsOf(subject))
  }

  return {
    lifetimeSeconds: rules.lifetimeSeconds,
    prepare,
    sign: async (subject: TokenSubject) => (await prepare())(subject),
  }
}

export type AccessTokenVerifier = { verify(token: string): Promise<TokenSubject | undefined> }

/**
 * Verified tokens are remembered, because one is presented many times in its short life and the
 * signature is most of the cost. A remembered token still expires to the second, and is forgotten
 * together with its key.
 */
export function createAccessTokenVerifier(
  rules: TokenRules,
  keys: VerificationKeys,
): AccessTokenVerifier {
  const remembered = new Map<string, Verified>()

  async function checkAnew(token: string): Promise<TokenSubject | undefined> {
    remembered.delete(token)
    const verified = await check(token, rules, keys)
    if (verified) remember(token, verified)
    return verified?.subject
  }

  function remember(token: string, verified: Verified): void {
    if (remembered.size >= CACHED_TOKENS) {
      const [oldest] = remembered.keys()
      if (oldest !== undefined) remembered.delete(oldest)
    }
    remembered.set(token, verified)
  }

  return {
    async verify(token) {
      const known = remembered.get(token)
      if (!known || hasExpired(known, rules.clock)) return checkAnew(token)
      const isInForce = (await keys.find(known.kid)) === known.key
      return isInForce ? known.subject : checkAnew(token)
    },
  }
}

/** Claims first: a token that could not be accepted anyway never makes anyone look for a key. */
async function check(
  token: string,
  rules: TokenRules,
  keys: VerificationKeys,
): Promise<Verified | undefined> {
  const parsed = parseToken(token)
  const claims = parsed && acceptClaims(parsed, rules)
  if (!parsed || !claims) return undefined
  const key = await keys.find(parsed.kid)
  return key && hasValidSignature(parsed, key) ? { ...claims, kid: parsed.kid, key } : undefined
}

function acceptClaims({ claims }: ParsedToken, rules: TokenRules) {
  const { iss, aud, iat, exp, nbf } = claims
  const nowSeconds = rules.clock().getTime() / 1000
  if (iss !== (rules.issuer ?? iss) || aud !== rules.audience) return undefined
  if (!isTime(exp) || hasExpired({ expiresAtSeconds: exp }, rules.clock)) return undefined
  if (!isTime(iat) || iat > nowSeconds + MAX_CLOCK_SKEW_SECONDS) return undefined
  if (nbf !== undefined && !(isTime(nbf) && nbf <= nowSeconds)) return undefined
  const subject = subjectOf(claims)
  return subject && { subject, expiresAtSeconds: exp }
}

function subjectOf(claims: Record<string, unknown>): TokenSubject | undefined {
  const { sub, username, sid, roles } = claims
  if (!isText(sub) || !isText(username) || !isText(sid)) return undefined
  if (!Array.isArray(roles) || !roles.every(isText)) return undefined
  return { userId: sub, username, roles, sessionId: sid }
}

function hasExpired({ expiresAtSeconds }: { expiresAtSeconds: number }, clock: Clock): boolean {
  return clock().getTime() >= expiresAtSeconds * 1000
}

function isTime(value: unknown): value is number {
  return Number.isSafeInteger(value)
}

function isText(value: unknown): value is string {
  return typeof value === 'string' && value !== ''
}
