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
  /** When the user last proved who they are; a refresh does not change it. */
  authenticatedAt?: Date
}

/** How the user authenticated (RFC 8176). */
type Proof = { amr?: string[] }

/** The client that acts for the user, and what it was granted; without it the token is the user's own. */
type TokenGrant = {
  clientId: string
  scopes: string[]
  /** Whom the token is meant for; without it, the services of the suite. */
  audience?: string | string[]
}

/** Where public keys come from: this service's own table, or another issuer's published set. */
export type VerificationKeys = {
  find(kid: string | undefined, algorithm: string): Promise<VerificationKey | undefined>
}

type VerificationKey = KeyObject | webcrypto.CryptoKey

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

type TokenHeader = Partial<CompactJWSHeaderParameters>

type Signed = TokenSubject & Proof & { grant?: TokenGrant | undefined }

export type SignAccessToken = (subject: Signed) => Promise<string>

export type AccessTokenSigner = ReturnType<typeof createAccessTokenSigner>

export function createAccessTokenSigner(
  rules: TokenRules & { issuer: string; lifetimeSeconds: number },
  keys: { current(): Promise<PrivateSigningKey> },
) {
  const claimsOf = ({ amr = [], authenticatedAt, grant, ...subject }: Signed) => {
    const issuedAt = Math.floor(rules.clock().getTime() / 1000)
    return {
      iss: rules.issuer,
      aud: grant?.audience ?? rules.audience,
      iat: issuedAt,
      exp: issuedAt + rules.lifetimeSeconds,
      sub: subject.userId,
      ...shownTo(subject, grant),
      sid: subject.sessionId,
      // Required by RFC 9068. Without a grant, the user signed in to the suite itself.
      client_id: grant?.clientId ?? rules.audience,
      jti: randomUUID(),
      ...(grant && { scope: grant.scopes.join(' ') }),
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
    sign: async (subject: Signed) => (await prepare())(subject),
  }
}

/** A token for others shows of the user what its scopes allow. */
function shownTo({ username, roles }: TokenSubject, grant: TokenGrant | undefined) {
  if (grant?.audience === undefined) return { username, roles }
  return {
    ...(grant.scopes.includes('profile') && { username }),
    ...(grant.scopes.includes('roles') && { roles }),
  }
}

/** Nothing in a token selects an algorithm: apart from the key id, this header is the only one. */
function headerOf(kid: string) {
  return { alg: ALGORITHM, typ: 'at+jwt', kid }
}

const ALGORITHM = 'ES256'

export type AccessTokenVerifier = { verify(token: string): Promise<TokenSubject | undefined> }

export function createAccessTokenVerifier(
  rules: TokenRules,
  keys: VerificationKeys,
): AccessTokenVerifier {
  return createVerifier(rules, keys, (claims) =>
    isMeantFor(rules.audience, claims.aud) ? subjectOf(claims) : undefined,
  )
}

/** An access token of this service for any audience. Without a client's grant it has no scopes. */
export type GrantedToken = {
  userId: string
  sessionId: string
  clientId: string
  scopes: string[]
  audiences: string[]
  claims: Record<string, unknown>
}

/** For endpoints that every access token of this service may be presented to. */
export function createGrantedTokenVerifier(
  rules: Pick<TokenRules, 'clock'>,
  keys: VerificationKeys,
): { verify(token: string): Promise<GrantedToken | undefined> } {
  return createVerifier(rules, keys, grantedTokenOf)
}

type Claims = Record<string, unknown>

/**
 * Verified tokens are cached, because a token is presented many times in its short life and checking
 * the signature is most of the cost. A cached token still expires to the second, and is dropped
 * together with its key.
 */
function createVerifier<S>(
  rules: Omit<TokenRules, 'audience'>,
  keys: VerificationKeys,
  accept: (claims: Claims) => S | undefined,
): { verify(token: string): Promise<S | undefined> } {
  const cached = new Map<string, Verified<S>>()

  async function checkAnew(token: string): Promise<S | undefined> {
    cached.delete(token)
    const verified = await check(token)
    if (verified) cache(token, verified)
    return verified?.subject
  }

  /** Checks the claims first: a token that cannot be accepted must not trigger a key look-up. */
  async function check(token: string): Promise<Verified<S> | undefined> {
    const parsed = parseToken(token, rules.acceptsHeader ?? isOwnHeader)
    const times = parsed && acceptTimes(parsed.claims, rules)
    const subject = times && accept(parsed.claims)
    if (!parsed || !times || !subject) return undefined
    const { kid, algorithm } = parsed
    const key = await keys.find(kid, algorithm)
    if (!key || !(await isSignedBy(key, algorithm, token))) return undefined
    return { subject, ...times, kid, algorithm, key }
  }

  function cache(token: string, verified: Verified<S>): void {
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

type Verified<S> = {
  subject: S
  expiresAtSeconds: number
  kid: string | undefined
  algorithm: string
  key: VerificationKey
}

const CACHED_TOKENS = 10_000

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
function acceptTimes(claims: Claims, rules: Pick<TokenRules, 'clock' | 'issuer'>) {
  const { iss, iat, exp, nbf } = claims
  const nowSeconds = rules.clock().getTime() / 1000
  if (iss !== (rules.issuer ?? iss)) return undefined
  if (!isTime(exp) || hasExpired({ expiresAtSeconds: exp }, rules.clock)) return undefined
  if (!isTime(iat) || iat > nowSeconds + MAX_CLOCK_SKEW_SECONDS) return undefined
  if (nbf !== undefined && !(isTime(nbf) && nbf <= nowSeconds)) return undefined
  return { expiresAtSeconds: exp }
}

function isMeantFor(audience: string, aud: unknown): boolean {
  if (Array.isArray(aud)) return aud.every(isText) && aud.includes(audience)
  return aud === audience
}

function grantedTokenOf(claims: Claims): GrantedToken | undefined {
  const { sub, sid, client_id: clientId, scope = '', aud } = claims
  const audiences = [aud].flat()
  if (!isText(sub) || !isText(sid) || !isText(clientId) || typeof scope !== 'string')
    return undefined
  if (!audiences.every(isText)) return undefined
  const scopes = scope.split(' ').filter((name) => name !== '')
  return { userId: sub, sessionId: sid, clientId, scopes, audiences, claims }
}

function subjectOf(claims: Claims): TokenSubject | undefined {
  const { sub, username, sid, roles, auth_time: since } = claims
  if (!isText(sub) || !isText(username) || !isText(sid)) return undefined
  if (!Array.isArray(roles) || !roles.every(isText)) return undefined
  const subject = { userId: sub, username, roles, sessionId: sid }
  return isTime(since) ? { ...subject, authenticatedAt: new Date(since * 1000) } : subject
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
