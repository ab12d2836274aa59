import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
import type { Db } from '../database/open.ts'
import { type Clock, secondsAfter } from '../runtime/clock.ts'
import { openText, sealText } from './sealed-text.ts'
import {
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  type SigningKeyTables,
  type StoredSigningKey,
} from './signing-keys.repository.ts'

type SigningKeyOptions = {
  db: Db<SigningKeyTables>
  clock: Clock
  /** 32 bytes; the same on every node. */
  masterKey: Buffer
  tokenLifetimeSeconds: number
}

export type SigningKeys = {
  find(kid: string): Promise<KeyObject | undefined>
  current(): Promise<SigningKey>
  published(): Promise<PublicJwk[]>
  /** Announces a successor when the newest key is older than this; any node may call it any time. */
  rotateWhenOlderThan(seconds: number): Promise<void>
}

/** A published key set may be kept this long, so a new key is announced longer than that before use. */
export const JWKS_MAX_AGE_SECONDS = 600

const ANNOUNCED_SECONDS = JWKS_MAX_AGE_SECONDS + 300

/** What another node has changed, or an operator has deleted, is seen after this time. */
const RELOAD_SECONDS = 1

/** How far the clocks of nodes may differ: a key is needed a little longer than its last token. */
const SPARE_SECONDS = 60

const MISS_COOLDOWN_SECONDS = 10

/**
 * The keys of one service, shared by its nodes through the database. Rows never change: which key
 * signs follows from their times alone, so nodes agree without talking. A key keeps verifying after
 * its successor took over until the last token it can have signed is dead. A node that finds no
 * key at all, at the first start or because an operator deleted them, makes one that signs at once.
 */
export async function openSigningKeys(options: SigningKeyOptions): Promise<SigningKeys> {
  const { db, clock, masterKey, tokenLifetimeSeconds } = options
  let keys: SigningKey[] = []
  let reloadAt = clock()
  let missAllowedAt = clock()
  let reloading: Promise<void> | undefined

  async function reload(): Promise<void> {
    const stored = await listSigningKeys(db)
    if (stored.length === 0) return add(1, clock())
    // An unchanged key stays the same object: verified tokens are remembered by it.
    keys = stored.map(
      (row) => keys.find(({ kid }) => kid === row.kid) ?? openSigningKey(row, masterKey),
    )
    reloadAt = secondsAfter(clock(), RELOAD_SECONDS)
  }

  /** For all requests that find the keys too old. */
  function reloadOnce(): Promise<void> {
    reloading ??= reload().finally(() => {
      reloading = undefined
    })
    return reloading
  }

  async function add(generation: number, signsFrom: Date): Promise<void> {
    await insertSigningKey(db, sealSigningKey(newSigningKey(generation, signsFrom), masterKey))
    await reload()
  }

  async function freshKeys(): Promise<SigningKey[]> {
    if (clock() >= reloadAt) await reloadOnce()
    return keys.filter((key) => !isSpent(key))
  }

  function isSpent(key: SigningKey): boolean {
    const successor = keys.find(({ generation }) => generation > key.generation)
    const lastUseSeconds = tokenLifetimeSeconds + SPARE_SECONDS
    return !!successor && clock() > secondsAfter(successor.signsFrom, lastUseSeconds)
  }

  async function reloadAfterMiss(): Promise<void> {
    if (clock() < missAllowedAt) return
    missAllowedAt = secondsAfter(clock(), MISS_COOLDOWN_SECONDS)
    await reload()
  }

  async function find(kid: string): Promise<KeyObject | undefined> {
    if (!(await freshKeys()).some((key) => key.kid === kid)) await reloadAfterMiss()
    return (await freshKeys()).find((key) => key.kid === kid)?.publicKey
  }

  async function current(): Promise<SigningKey> {
    const fresh = await freshKeys()
    // A node whose clock is behind the one that made the first key has no key in force yet.
    const key = fresh.findLast(({ signsFrom }) => signsFrom <= clock()) ?? fresh[0]
    if (!key) throw new Error('The table of signing keys is empty')
    return key
  }

  async function rotateWhenOlderThan(seconds: number): Promise<void> {
    await reload()
    const newest = keys.at(-1)
    if (newest && secondsAfter(newest.signsFrom, seconds) <= clock()) {
      await add(newest.generation + 1, secondsAfter(clock(), ANNOUNCED_SECONDS))
    }
    const spent = keys.filter(isSpent).map(({ kid }) => kid)
    await deleteSigningKeys(db, spent)
  }

  await reload()
  const published = async () => (await freshKeys()).map(publicJwk)
  return { find, current, published, rotateWhenOlderThan }
}

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

function sealSigningKey(key: SigningKey, masterKey: Buffer): StoredSigningKey {
  const { generation, kid, signsFrom } = key
  const pem = key.privateKey.export({ type: 'pkcs8', format: 'pem' }).toString()
  const sealedPrivateKey = sealText(masterKey, pem, `${PURPOSE} ${kid}`)
  return { generation, kid, signsFrom, sealedPrivateKey }
}

function openSigningKey(stored: StoredSigningKey, masterKey: Buffer): SigningKey {
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
