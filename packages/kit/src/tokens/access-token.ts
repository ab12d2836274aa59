import { type KeyObject, randomUUID, type webcrypto } from 'node:crypto'
import {
  type CompactJWSHeaderParameters,
  compactVerify,
  decodeJwt,
  decodeProtectedHeader,
  errors,
  SignJWT,
} from 'jose'
import type { Clock } from '../runtime/clock.ts'

/** Whom a token speaks for. */
export type TokenSubject = {
  userId: string
  username: string
  roles: string[]
  sessionId: string
}

/** How (RFC 8176) and when the user proved who it is. */
type Proof = { amr?: string[]; authenticatedAt?: Date }

/** Where public keys come from: this service's own table, or another issuer's published set. */
export type VerificationKeys = {
  find(kid: string | undefined, algorithm: string): Promise<VerificationKey | undefined>
}

export type VerificationKey = KeyObject | webcrypto.CryptoKey

type PrivateSigningKey = { kid: string; privateKey: KeyObject }

type TokenRules = {
  /** Left out where the keys are the service's own: they prove who signed, whatever its address. */
  issuer?: string
  audience: string
  clock: Clock
  /** Only for another issuer's tokens: those that this service signs have one header. */
  acceptsHeader?: AcceptsHeader
}

/** Decides about a header that cannot be believed yet. */
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

  /** Has the key before anything is spent for the token: what it returns needs nothing else. */
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

/** Nothing in a token selects an algorithm: this header is the only one, but for the key it names. */
function headerOf(kid: string) {
  return { alg: ALGORITHM, typ: 'at+jwt', kid }
}

const ALGORITHM = 'ES256'

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

/** Claims first: a token that could not be accepted anyway never makes us look for a key. */
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

/** Takes a token apart without believing any of it; `undefined` when it is not of our shape. */
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

/** There is one spelling of a token: its header is, byte for byte, the one that the signer writes. */
function isOwnHeader({ kid }: TokenHeader, token: string): boolean {
  return kid !== undefined && KID.test(kid) && token.startsWith(`${encode(headerOf(kid))}.`)
}

/** Base64url has bits to spare in its last letter; decoders ignore them. */
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

// Nodes of one service do not share a clock to the second; a minute's difference would be noticed.
const MAX_CLOCK_SKEW_SECONDS = 60

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
