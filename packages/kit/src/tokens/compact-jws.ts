import { type KeyObject, sign, verify } from 'node:crypto'

/**
 * One shape of signed token and no other: ES256, `typ` at+jwt, three canonical base64url segments.
 * Nothing in the token selects an algorithm, so there is no algorithm to confuse. The work is
 * synchronous on purpose: it never queues in libuv's thread pool behind hashing or file access.
 */
export type ParsedToken = {
  kid: string
  claims: Record<string, unknown>
  signedPart: string
  signature: Buffer
}

export type PrivateSigningKey = { kid: string; privateKey: KeyObject }

const SHAPE = /^([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]+)\.([A-Za-z0-9_-]{86})$/

const KID = /^[A-Za-z0-9_-]{1,64}$/

const MAX_LENGTH = 8192

const ENCODING = 'ieee-p1363'

export function signToken(key: PrivateSigningKey, claims: object): string {
  const payload = Buffer.from(JSON.stringify(claims)).toString('base64url')
  const signedPart = `${headerOf(key.kid)}.${payload}`
  const options = { key: key.privateKey, dsaEncoding: ENCODING } as const
  return `${signedPart}.${sign('sha256', Buffer.from(signedPart), options).toString('base64url')}`
}

/** Takes a token apart without believing any of it; `undefined` when it is not of our shape. */
export function parseToken(token: string): ParsedToken | undefined {
  if (token.length > MAX_LENGTH) return undefined
  const [, header = '', payload = '', signature = ''] = SHAPE.exec(token) ?? []
  const kid = kidOf(header)
  const claims = parseObject(decodeCanonical(payload))
  const signatureBytes = decodeCanonical(signature)
  if (!kid || !claims || !signatureBytes) return undefined
  return { kid, claims, signedPart: `${header}.${payload}`, signature: signatureBytes }
}

export function hasValidSignature(token: ParsedToken, publicKey: KeyObject): boolean {
  const options = { key: publicKey, dsaEncoding: ENCODING } as const
  return verify('sha256', Buffer.from(token.signedPart), options, token.signature)
}

function headerOf(kid: string): string {
  return Buffer.from(JSON.stringify({ alg: 'ES256', typ: 'at+jwt', kid })).toString('base64url')
}

/** The only accepted header is, byte for byte, the one the signer writes for this key. */
function kidOf(header: string): string | undefined {
  const kid = parseObject(decodeCanonical(header))?.kid
  return typeof kid === 'string' && KID.test(kid) && headerOf(kid) === header ? kid : undefined
}

/** Refuses encodings whose unused last bits are set: two spellings of one token are one too many. */
function decodeCanonical(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, 'base64url')
  return bytes.toString('base64url') === text ? bytes : undefined
}

function parseObject(bytes: Buffer | undefined): Record<string, unknown> | undefined {
  if (!bytes) return undefined
  try {
    const value: unknown = JSON.parse(bytes.toString('utf8'))
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    return isObject ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}
