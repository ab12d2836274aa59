import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
import { openText, sealText } from './sealed-text.ts'
import type { StoredSigningKey } from './signing-keys.repository.ts'

export type SigningKey = {
  generation: number
  kid: string
  signsFrom: Date
  privateKey: KeyObject
  publicKey: KeyObject
}

export type PublicJwk = webcrypto.JsonWebKey & { kid?: string }

const PURPOSE = 'signing key'

/** A new P-256 key, named by its RFC 7638 thumbprint. */
export function newSigningKey(generation: number, signsFrom: Date): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { generation, kid: thumbprint(publicKey), signsFrom, privateKey, publicKey }
}

export function sealSigningKey(key: SigningKey, masterKey: Buffer): StoredSigningKey {
  const { generation, kid, signsFrom } = key
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const sealedPrivateKey = sealText(masterKey, pem, `${PURPOSE} ${kid}`)
  return { generation, kid, signsFrom, sealedPrivateKey }
}

export function openSigningKey(stored: StoredSigningKey, masterKey: Buffer): SigningKey {
  const { generation, kid, signsFrom, sealedPrivateKey } = stored
  const privateKey = createPrivateKey(openText(masterKey, sealedPrivateKey, `${PURPOSE} ${kid}`))
  return { generation, kid, signsFrom, privateKey, publicKey: createPublicKey(privateKey) }
}

/** What may be published of a key: the public half and how to use it. */
export function publicJwk(key: SigningKey): PublicJwk {
  return { ...publicMembers(key.publicKey), kid: key.kid, alg: 'ES256', use: 'sig' }
}

function thumbprint(publicKey: KeyObject): string {
  const { crv, kty, x, y } = publicMembers(publicKey)
  return createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url')
}

function publicMembers(publicKey: KeyObject): PublicJwk {
  const { kty, crv, x, y } = publicKey.export({ format: 'jwk' })
  return { kty, crv, x, y }
}
