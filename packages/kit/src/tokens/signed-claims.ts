import type { KeyObject } from 'node:crypto'
import {
  compactVerify,
  createLocalJWKSet,
  decodeProtectedHeader,
  errors,
  type JSONWebKeySet,
  SignJWT,
} from 'jose'

export type Claims = Record<string, unknown>

type Header = { alg: string; typ: string; kid: string }

/** A JWT that is not an access token, such as an ID token. */
export function signClaims(claims: Claims, header: Header, privateKey: KeyObject): Promise<string> {
  return new SignJWT(claims).setProtectedHeader(header).sign(privateKey)
}

type Rules = {
  algorithms: string[]
  /** The types it may have, in lower case; `undefined` allows one without a type. */
  types: (string | undefined)[]
}

type Keys =
  | { find(kid: string): Promise<KeyObject | undefined> }
  /** A published set, as an object that was read from JSON. */
  | { set: object }

const MAX_LENGTH = 16_384

/** The claims of a signed JWT; its times and all that it says remain to be checked. Undefined if it is not genuine. */
export async function readSignedClaims(
  token: string,
  keys: Keys,
  { algorithms, types }: Rules,
): Promise<Claims | undefined> {
  if (token.length > MAX_LENGTH) return undefined
  try {
    const { alg = '', typ, kid, crit } = decodeProtectedHeader(token)
    const type = typ?.toLowerCase().replace(/^application\//, '')
    if (!algorithms.includes(alg) || !types.includes(type) || crit !== undefined) return undefined
    const payload = await payloadOf(token, keys, { kid, algorithms })
    return payload && claimsIn(payload)
  } catch (error) {
    // jose throws a TypeError for a token that is not a JWT at all, and for keys that it cannot use.
    const isMalformed = error instanceof TypeError || error instanceof SyntaxError
    if (isMalformed || error instanceof errors.JOSEError) return undefined
    throw error
  }
}

type Choice = { kid: string | undefined; algorithms: string[] }

async function payloadOf(
  token: string,
  keys: Keys,
  { kid, algorithms }: Choice,
): Promise<Uint8Array | undefined> {
  if ('set' in keys) {
    const { keys: listed = [] } = keys.set as Partial<JSONWebKeySet>
    const set = createLocalJWKSet({ keys: listed })
    return (await compactVerify(token, set, { algorithms })).payload
  }
  const key = await keys.find(kid ?? '')
  return key && (await compactVerify(token, key, { algorithms })).payload
}

function claimsIn(payload: Uint8Array): Claims | undefined {
  const claims: unknown = JSON.parse(new TextDecoder().decode(payload))
  return typeof claims === 'object' && claims !== null ? (claims as Claims) : undefined
}
