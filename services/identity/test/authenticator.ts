import {
  createHash,
  generateKeyPairSync,
  type KeyObject,
  randomBytes,
  sign as signBytes,
} from 'node:crypto'

export type Algorithm = 'ES256' | 'EdDSA' | 'RS256'

/** Everything that a hostile client could falsify. */
export type Falsified = {
  origin?: string
  rpId?: string
  type?: string
  challenge?: string
  crossOrigin?: boolean
  topOrigin?: string
  note?: string
  userHandle?: string | null
  counter?: number
  flags?: number
  signWith?: KeyObject
  credentialId?: Buffer
  id?: string
  attestation?: 'none' | 'packed' | 'tpm'
  alg?: number
  transports?: string[]
}

type Options = { challenge: string; rp?: { id: string }; rpId?: string; user?: { id: string } }

export const FLAGS = { UP: 0x01, UV: 0x04, BE: 0x08, BS: 0x10, AT: 0x40 }
const COSE_ALG: Record<Algorithm, number> = { ES256: -7, EdDSA: -8, RS256: -257 }

/** A software authenticator. */
export function createAuthenticator(origin: string, algorithm: Algorithm = 'ES256') {
  const { publicKey, privateKey } = newKeyPair(algorithm)
  const credentialId = randomBytes(32)
  let userHandle = ''
  let counter = 0

  const clientDataOf = (type: string, options: Options, falsified: Falsified) =>
    Buffer.from(
      JSON.stringify({
        type: falsified.type ?? type,
        challenge: falsified.challenge ?? options.challenge,
        origin: falsified.origin ?? origin,
        crossOrigin: falsified.crossOrigin ?? false,
        ...(falsified.topOrigin && { topOrigin: falsified.topOrigin }),
        ...(falsified.note && { note: falsified.note }),
      }),
    )

  const signed = (authData: Buffer, clientData: Buffer, key: KeyObject) =>
    signBytes(
      algorithm === 'EdDSA' ? null : 'sha256',
      Buffer.concat([authData, createHash('sha256').update(clientData).digest()]),
      key,
    )

  return {
    id: credentialId.toString('base64url'),
    privateKey,

    /** What `navigator.credentials.create` returns. */
    create(options: Options, falsified: Falsified = {}) {
      userHandle = options.user?.id ?? ''
      const clientData = clientDataOf('webauthn.create', options, falsified)
      const flags = falsified.flags ?? FLAGS.UP | FLAGS.UV
      const id = falsified.credentialId ?? credentialId
      const key = encodeCbor(coseKey(publicKey, falsified.alg ?? COSE_ALG[algorithm]))
      const attested = Buffer.concat([Buffer.alloc(16), uint16(id.length), id, key])
      const authData = Buffer.concat([
        authenticatorData(falsified.rpId ?? options.rp?.id ?? '', flags | FLAGS.AT, {
          counter: falsified.counter ?? counter,
        }),
        attested,
      ])
      const fmt = falsified.attestation ?? 'none'
      const statement =
        fmt === 'none'
          ? new Map()
          : new Map<string, unknown>([
              ['alg', COSE_ALG[algorithm]],
              ['sig', signed(authData, clientData, falsified.signWith ?? privateKey)],
            ])
      const attestationObject = encodeCbor(
        new Map<string, unknown>([
          ['fmt', fmt],
          ['attStmt', statement],
          ['authData', authData],
        ]),
      )
      const rawId = falsified.id ?? id.toString('base64url')
      return {
        id: rawId,
        rawId,
        type: 'public-key',
        response: {
          attestationObject: attestationObject.toString('base64url'),
          clientDataJSON: clientData.toString('base64url'),
          transports: falsified.transports ?? ['internal'],
        },
        clientExtensionResults: { credProps: { rk: true } },
        authenticatorAttachment: 'platform',
      }
    },

    /** What `navigator.credentials.get` returns. */
    get(options: Options, falsified: Falsified = {}) {
      const clientData = clientDataOf('webauthn.get', options, falsified)
      counter = falsified.counter ?? counter + 1
      const flags = falsified.flags ?? FLAGS.UP | FLAGS.UV
      const rpId = falsified.rpId ?? options.rpId ?? ''
      const authData = authenticatorData(rpId, flags, { counter })
      const id = falsified.id ?? credentialId.toString('base64url')
      const handle = falsified.userHandle === undefined ? userHandle : falsified.userHandle
      return {
        id,
        rawId: id,
        type: 'public-key',
        response: {
          authenticatorData: authData.toString('base64url'),
          clientDataJSON: clientData.toString('base64url'),
          signature: signed(authData, clientData, falsified.signWith ?? privateKey).toString(
            'base64url',
          ),
          userHandle: handle,
        },
        clientExtensionResults: {},
        authenticatorAttachment: 'platform',
      }
    },
  }
}

export function newKeyPair(algorithm: Algorithm): { publicKey: KeyObject; privateKey: KeyObject } {
  if (algorithm === 'EdDSA') return generateKeyPairSync('ed25519')
  if (algorithm === 'RS256') return generateKeyPairSync('rsa', { modulusLength: 2048 })
  return generateKeyPairSync('ec', { namedCurve: 'P-256' })
}

function authenticatorData(rpId: string, flags: number, { counter }: { counter: number }): Buffer {
  const rpIdHash = createHash('sha256').update(rpId).digest()
  const count = Buffer.alloc(4)
  count.writeUInt32BE(counter)
  return Buffer.concat([rpIdHash, Buffer.from([flags]), count])
}

export function coseKey(publicKey: KeyObject, alg: number): Map<number, unknown> {
  const jwk = publicKey.export({ format: 'jwk' })
  const bytes = (member: string | undefined) => Buffer.from(member ?? '', 'base64url')
  if (jwk.kty === 'RSA')
    return new Map<number, unknown>([
      [1, 3],
      [3, alg],
      [-1, bytes(jwk.n)],
      [-2, bytes(jwk.e)],
    ])
  const point: [number, unknown][] = [
    [-1, jwk.kty === 'OKP' ? 6 : 1],
    [-2, bytes(jwk.x)],
  ]
  if (jwk.kty === 'EC') point.push([-3, bytes(jwk.y)])
  return new Map<number, unknown>([[1, jwk.kty === 'OKP' ? 1 : 2], [3, alg], ...point])
}

function uint16(value: number): Buffer {
  const bytes = Buffer.alloc(2)
  bytes.writeUInt16BE(value)
  return bytes
}

/** The part of CBOR that an attestation needs: integers, byte and text strings, arrays, maps. */
export function encodeCbor(value: unknown): Buffer {
  if (typeof value === 'number') {
    return value >= 0 ? head(0, value) : head(1, -1 - value)
  }
  if (Buffer.isBuffer(value)) return Buffer.concat([head(2, value.length), value])
  if (typeof value === 'string') {
    const text = Buffer.from(value)
    return Buffer.concat([head(3, text.length), text])
  }
  if (Array.isArray(value)) {
    return Buffer.concat([head(4, value.length), ...value.map(encodeCbor)])
  }
  if (value instanceof Map) {
    const entries = [...value].flatMap(([key, entry]) => [encodeCbor(key), encodeCbor(entry)])
    return Buffer.concat([head(5, value.size), ...entries])
  }
  throw new TypeError(`No CBOR for ${typeof value}`)
}

function head(majorType: number, length: number): Buffer {
  const type = majorType << 5
  if (length < 24) return Buffer.from([type | length])
  if (length < 0x100) return Buffer.from([type | 24, length])
  return Buffer.from([type | 25, length >> 8, length & 0xff])
}
