import { type KeyObject, randomUUID, type webcrypto } from 'node:crypto'
import {
  type CompactJWSHeaderParameters,
  compactVerify,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  SignJWT,
} from 'jose'
import { type Clock, MAX_CLOCK_SKEW_SECONDS } from '../runtime/clock.ts'

/** The user that a token was issued to. */
export type TokenSubject = {
  userId: string
  username: string
  roles: string[]
  sessionId: string
}

/** How (RFC 8176) and when the user authenticated. */
type Proof = { amr?: string[]; authenticatedAt?: Date }

/** Where public keys come from: this service's own table, or another issuer's published set. */
export type VerificationKeys = {
  find(kid: string | undefined, algorithm: string): Promise<VerificationKey | undefined>
}

export type VerificationKey = KeyObject | webcrypto.CryptoKey

type PrivateSigningKey = { kid: string; privateKey: KeyObject }

type TokenRules = {
  /** Left out when the keys are the service's own: they prove who signed, whatever the issuer's address. */
  issuer?: string
  audience: string
  clock: Clock
  /** Only for another issuer's tokens: all tokens that this service signs have the same header. */
  acceptsHeader?: AcceptsHeader
}

/** Checks a header that cannot be trusted yet. */
export type AcceptsHeader = (header: TokenHeader, token: string) => boolean

export type TokenHeader = Partial<CompactJWSHeaderParameters>

export type SignAccessToken = (subject: TokenSubject & Proof) => Promise<string>

export type AccessTokenSigner = ReturnType<typeof createAccessTokenSigner>

export function createAccessTokenSigner(
  rules: TokenRules & { issuer: string; lifetimeSeconds: number },
  keys: { current(): Promise<PrivateSigningKey> },
) {
  const claimsOf = ({ amr = [], authenticatedAt, ...subject }: TokenSubject & Proof) => {
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
      // Required by RFC 9068. No clients are registered: users sign in to the suite itself.
      client_id: rules.audience,
      jti: randomUUID(),
      ...(amr.length > 0 && { amr }),
      ...(authenticatedAt && { auth_time: Math.floor(authenticatedAt.getTime() / 1000) }),
    }
  }

  /** Loads the key first, so that signing cannot fail after the caller has spent, say, a refresh token. */
  async function prepare(): Promise<SignAccessToken> {
    const { kid, privateKey } = await keys.current()
    return (subject) =>
      new SignJWT(claimsOf(subject)).setProtectedHeader(headerOf(kid)).sign(privateKey)
  }

  return {
    lifetimeSeconds: rules.lifetimeSeconds,
    prepare,
    sign: async (subject: TokenSubject & Proof) => (await prepare())(subject),
  }
}

/** Nothing in a token selects an algorithm: apart from the key id, this header is the only one. */
function headerOf(kid: string) {
  return { alg: ALGORITHM, typ: 'at+jwt', kid }
}

const ALGORITHM = 'ES256'

export type AccessTokenVerifier = { verify(token: string): Promise<TokenSubject | undefined> }

/**
 * Verified tokens are cached, because a token is presented many times in its short life and checking
 * the signature is most of the cost. A cached token still expires to the second, and is dropped
 * together with its key.
 */
export function createAccessTokenVerifier(
  rules: TokenRules,
  keys: VerificationKeys,
): AccessTokenVerifier {
  const cached = new Map<string, Verified>()

  async function checkAnew(token: string): Promise<TokenSubject | undefined> {
    cached.delete(token)
    const verified = await check(token, rules, keys)
    if (verified) cache(token, verified)
    return verified?.subject
  }

  function cache(token: string, verified: Verified): void {
    if (cached.size >= CACHED_TOKENS) {
      const [oldest] = cached.keys()
      if (oldest !== undefined) cached.delete(oldest)
    }
    cached.set(token, verified)
  }

  return {
    async verify(token) {
      const known = cached.get(token)
      if (!known || hasExpired(known, rules.clock)) return checkAnew(token)
      const isInForce = (await keys.find(known.kid, known.algorithm)) === known.key
      return isInForce ? known.subject : checkAnew(token)
    },
  }
}

type Verified = {
  subject: TokenSubject
  expiresAtSeconds: number
  kid: string | undefined
  algorithm: string
  key: VerificationKey
}

const CACHED_TOKENS = 10_000

/** Checks the claims first: a token that cannot be accepted must not trigger a key look-up. */
async function check(
  token: string,
  rules: TokenRules,
  keys: VerificationKeys,
): Promise<Verified | undefined> {
  const parsed = parseToken(token, rules.acceptsHeader ?? isOwnHeader)
  const claims = parsed && acceptClaims(parsed.claims, rules)
  if (!parsed || !claims) return undefined
  const { kid, algorithm } = parsed
  const key = await keys.find(kid, algorithm)
  if (!key || !(await isSignedBy(key, algorithm, token))) return undefined
  return { ...claims, kid, algorithm, key }
}

const MAX_LENGTH = 8192

const KID = /^[A-Za-z0-9_-]{1,64}$/

/** Parses a token without trusting any of it; `undefined` when it does not have the expected shape. */
function parseToken(token: string, acceptsHeader: AcceptsHeader) {
  if (token.length > MAX_LENGTH || !token.split('.').every(isCanonical)) return undefined
  try {
    const header = decodeProtectedHeader(token)
    if (!header.alg || !acceptsHeader(header, token)) return undefined
    return { kid: header.kid, algorithm: header.alg, claims: decodeJwt(token) }
  } catch {
    return undefined
  }
}

/** A token has only one valid encoding: its header must be, byte for byte, the one that the signer writes. */
function isOwnHeader({ kid }: TokenHeader, token: string): boolean {
  return kid !== undefined && KID.test(kid) && token.startsWith(`${encode(headerOf(kid))}.`)
}

/** The last character of base64url can have unused bits, which decoders ignore. */
function isCanonical(segment: string): boolean {
  return Buffer.from(segment, 'base64url').toString('base64url') === segment
}

function encode(value: object): string {
  return Buffer.from(JSON.stringify(value)).toString('base64url')
}

async function isSignedBy(
  key: VerificationKey,
  algorithm: string,
  token: string,
): Promise<boolean> {
  try {
    await compactVerify(token, key, { algorithms: [algorithm] })
    return true
  } catch (error) {
    if (error instanceof errors.JOSEError) return false
    throw error
  }
}

// The clocks of a service's nodes may differ by seconds; a difference of a minute would be noticed.

/** Stricter than RFC 7519: whole seconds, no leeway. */
function acceptClaims(claims: Record<string, unknown>, rules: TokenRules) {
  const { iss, aud, iat, exp, nbf } = claims
  const nowSeconds = rules.clock().getTime() / 1000
  if (iss !== (rules.issuer ?? iss) || !isMeantFor(rules.audience, aud)) return undefined
  if (!isTime(exp) || hasExpired({ expiresAtSeconds: exp }, rules.clock)) return undefined
  if (!isTime(iat) || iat > nowSeconds + MAX_CLOCK_SKEW_SECONDS) return undefined
  if (nbf !== undefined && !(isTime(nbf) && nbf <= nowSeconds)) return undefined
  const subject = subjectOf(claims)
  return subject && { subject, expiresAtSeconds: exp }
}

function isMeantFor(audience: string, aud: unknown): boolean {
  if (Array.isArray(aud)) return aud.every(isText) && aud.includes(audience)
  return aud === audience
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
