import {
  createECDH,
  createHash,
  createPrivateKey,
  createPublicKey,
  hkdfSync,
  type KeyObject,
} from 'node:crypto'
import { coseKey, encodeCbor } from './authenticator.ts'

/**
 * The test vectors of Web Authentication Level 3, section 16. The standard derives every random value
 * with HKDF from one seed, and so does this file; `w3c-published.ts` has the values that cannot be derived.
 */
export type Vector = {
  registration: {
    challenge: string
    credentialId: Buffer
    publicKey: Buffer
    backupEligible: boolean
    clientData: Buffer
    authData: Buffer
  }
  authentication: { challenge: string; clientData: Buffer; authData: Buffer }
  /** The key of the attestation certificate, if there is one. */
  attestationKey?: KeyObject
  attestationObject(format: string, statement: Map<string, unknown>): Buffer
}

export type VectorOptions = {
  algorithm: 'ES256' | 'RS256' | 'EdDSA'
  credentialIdBytes?: number
  crossOrigin?: boolean
  topOrigin?: boolean
  /** The standard draws two more values between the ceremonies, for a certificate. */
  certified?: boolean
}

const SEED = 'WebAuthn test vectors'
const RP_ID_HASH = createHash('sha256').update('example.org').digest()
const COSE_ALG = { ES256: -7, EdDSA: -8, RS256: -257 }
const [UP, UV, BE, BS, AT] = [0x01, 0x04, 0x08, 0x10, 0x40]

export function deriveVector(info: string, options: VectorOptions): Vector {
  let salt = 0
  const next = (length: number): Buffer => {
    const bytes = Buffer.from(hkdfSync('sha256', SEED, Buffer.from([salt]), info, length))
    salt += 1
    return bytes
  }
  const byte = () => next(1)[0] ?? 0
  const clientData = (type: string, challenge: string) => {
    const extended = (byte() & 1) === 1
    const extra = `clientDataJSON may be extended with additional fields in the future, such as this: `
    return Buffer.from(
      JSON.stringify({
        type,
        challenge,
        origin: 'https://example.org',
        crossOrigin: options.crossOrigin ?? false,
        ...(options.topOrigin && { topOrigin: 'https://example.com' }),
        ...(extended && { extraData: extra + next(16).toString('base64url') }),
      }),
    )
  }

  const challenge = next(32).toString('base64url')
  const privateKey = options.algorithm === 'RS256' ? mersenneKey() : keyOf(options, next(32))
  const created = clientData('webauthn.create', challenge)
  const aaguid = next(16)
  const credentialId = next(options.credentialIdBytes ?? 32)
  const flags = withoutStrayBackup(byte() & (UV | BE | BS))
  const length = Buffer.from([credentialId.length >> 8, credentialId.length & 0xff])
  const key = encodeCbor(coseKey(createPublicKey(privateKey), COSE_ALG[options.algorithm]))
  const attested = Buffer.concat([aaguid, length, credentialId, key])
  const authData = Buffer.concat([headOf(flags | UP | AT), attested])
  const attestationKey = options.certified ? ecKeyOf(next(32)) : undefined
  if (options.certified) salt += 1 // The serial number of the certificate.

  const secondChallenge = next(32).toString('base64url')
  const got = clientData('webauthn.get', secondChallenge)
  const eligible = flags & BE
  const secondFlags = withoutStrayBackup((byte() & (UV | BS)) | eligible)
  return {
    registration: {
      challenge,
      credentialId,
      publicKey: key,
      backupEligible: eligible !== 0,
      clientData: created,
      authData,
    },
    authentication: {
      challenge: secondChallenge,
      clientData: got,
      authData: headOf(secondFlags | UP),
    },
    ...(attestationKey && { attestationKey }),
    attestationObject: (format, statement) =>
      encodeCbor(
        new Map<string, unknown>([
          ['fmt', format],
          ['attStmt', statement],
          ['authData', authData],
        ]),
      ),
  }
}

function headOf(flags: number): Buffer {
  return Buffer.concat([RP_ID_HASH, Buffer.from([flags, 0, 0, 0, 0])])
}

function withoutStrayBackup(flags: number): number {
  return flags & BE ? flags : flags & ~BS
}

function keyOf({ algorithm }: VectorOptions, secret: Buffer): KeyObject {
  if (algorithm === 'EdDSA') {
    const head = Buffer.from('302e020100300506032b657004220420', 'hex')
    return createPrivateKey({ key: Buffer.concat([head, secret]), format: 'der', type: 'pkcs8' })
  }
  return ecKeyOf(secret)
}

function ecKeyOf(secret: Buffer): KeyObject {
  const curve = createECDH('prime256v1')
  curve.setPrivateKey(secret)
  const point = curve.getPublicKey()
  const part = (from: number, to: number) => point.subarray(from, to).toString('base64url')
  const d = secret.toString('base64url')
  const jwk = { kty: 'EC', crv: 'P-256', x: part(1, 33), y: part(33, 65), d }
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

/** The RSA key of the standard: the two smallest Mersenne primes above 2^1024. */
function mersenneKey(): KeyObject {
  const [p, q, e] = [2n ** 1279n - 1n, 2n ** 2203n - 1n, 65_537n]
  const d = inverse(e, ((p - 1n) * (q - 1n)) / gcd(p - 1n, q - 1n))
  const numbers = { n: p * q, e, d, p, q, dp: d % (p - 1n), dq: d % (q - 1n), qi: inverse(q, p) }
  const members = Object.entries(numbers).map(([name, value]) => {
    const hex = value.toString(16)
    const bytes = Buffer.from(hex.length % 2 ? `0${hex}` : hex, 'hex')
    return [name, bytes.toString('base64url')]
  })
  const jwk = { kty: 'RSA', ...Object.fromEntries(members) }
  return createPrivateKey({ key: jwk, format: 'jwk' })
}

function gcd(a: bigint, b: bigint): bigint {
  return b === 0n ? a : gcd(b, a % b)
}

function inverse(value: bigint, modulus: bigint): bigint {
  let [a, b, x, y] = [value % modulus, modulus, 1n, 0n]
  while (a > 1n) {
    const quotient = a / b
    ;[a, b] = [b, a % b]
    ;[x, y] = [y, x - quotient * y]
  }
  return ((x % modulus) + modulus) % modulus
}
