import {
  createHash,
  createPrivateKey,
  createPublicKey,
  generateKeyPair,
  generateKeyPairSync,
  type KeyObject,
  type webcrypto,
} from 'node:crypto'
import { promisify } from 'node:util'
import type { Db } from '../database/open.ts'
import { type Clock, isAhead, MAX_CLOCK_SKEW_SECONDS, secondsAfter } from '../runtime/clock.ts'
import {
  deleteRsaSigningKeys,
  insertRsaSigningKey,
  listRsaSigningKeys,
  type RsaSigningKeyTables,
} from './rsa-signing-keys.repository.ts'
import { openText, sealText } from './sealed-text.ts'
import {
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  type SigningKeyTables,
  type StoredSigningKey,
} from './signing-keys.repository.ts'

type KeyRules = {
  clock: Clock
  /** 32 bytes; the same on every node. */
  masterKey: Buffer
  tokenLifetimeSeconds: number
}

/** Where the keys of one algorithm are, and how one is made. */
type KeyStore = {
  list(): Promise<StoredSigningKey[]>
  insert(key: StoredSigningKey): Promise<void>
  remove(kids: string[]): Promise<void>
  create(generation: number, signsFrom: Date): Promise<SigningKey>
}

export type SigningKeys = {
  find(kid: string): Promise<KeyObject | undefined>
  current(): Promise<SigningKey>
  published(): Promise<PublicJwk[]>
  /** Announces a successor when the newest key is older than this; any node may call it at any time. */
  rotateWhenOlderThan(seconds: number): Promise<void>
}

/** Clients may cache the published key set for this long, so a new key is announced even longer before its use. */
export const JWKS_MAX_AGE_SECONDS = 600

const ANNOUNCED_SECONDS = JWKS_MAX_AGE_SECONDS + 300

/** How soon a node sees what another node has changed or an operator has deleted. */
const RELOAD_SECONDS = 1

const MISS_COOLDOWN_SECONDS = 10

/** The keys of access tokens: P-256. */
export async function openSigningKeys({
  db,
  ...rules
}: KeyRules & { db: Db<SigningKeyTables> }): Promise<SigningKeys> {
  const { keys, load } = sharedKeys(rules, {
    list: () => listSigningKeys(db),
    insert: (key) => insertSigningKey(db, key),
    remove: (kids) => deleteSigningKeys(db, kids),
    create: async (generation, signsFrom) => newSigningKey(generation, signsFrom),
  })
  await load()
  return keys
}

/** The keys of ID tokens. Making an RSA key takes long, so the first one is made when it is first needed. */
export function openRsaSigningKeys({
  db,
  ...rules
}: KeyRules & { db: Db<RsaSigningKeyTables> }): SigningKeys {
  const { keys } = sharedKeys(rules, {
    list: () => listRsaSigningKeys(db),
    insert: (key) => insertRsaSigningKey(db, key),
    remove: (kids) => deleteRsaSigningKeys(db, kids),
    create: newRsaKey,
  })
  const rotateWhenOlderThan = async (seconds: number) => {
    if ((await listRsaSigningKeys(db)).length > 0) await keys.rotateWhenOlderThan(seconds)
  }
  return { ...keys, rotateWhenOlderThan }
}

/**
 * The keys of one service, shared by its nodes through the database. Rows never change: which key
 * signs follows from their times alone, so nodes agree without communicating. A key keeps verifying after
 * its successor has taken over, until the last token it can have signed has expired. A node that finds
 * no keys, at the first start or because an operator deleted them, creates one that signs at once.
 */
function sharedKeys({ clock, masterKey, tokenLifetimeSeconds }: KeyRules, store: KeyStore) {
  let keys: SigningKey[] = []
  let reloadAt = clock()
  let missAllowedAt = clock()
  let reloading: Promise<void> | undefined

  async function reload(): Promise<void> {
    const stored = await store.list()
    if (stored.length === 0) return add(1, clock())
    // An unchanged key stays the same object, because cached tokens are tied to their key by identity.
    keys = stored.map(
      (row) => keys.find(({ kid }) => kid === row.kid) ?? openSigningKey(row, masterKey),
    )
    reloadAt = secondsAfter(clock(), RELOAD_SECONDS)
  }

  /** Shared by all requests that find the keys stale. */
  function reloadOnce(): Promise<void> {
    reloading ??= reload().finally(() => {
      reloading = undefined
    })
    return reloading
  }

  async function add(generation: number, signsFrom: Date): Promise<void> {
    await store.insert(sealSigningKey(await store.create(generation, signsFrom), masterKey))
    await reload()
  }

  async function freshKeys(): Promise<SigningKey[]> {
    if (!isAhead(reloadAt, RELOAD_SECONDS, clock())) await reloadOnce()
    return keys.filter((key) => !isRetired(key))
  }

  function isRetired(key: SigningKey): boolean {
    const successor = keys.find(({ generation }) => generation > key.generation)
    const lastUseSeconds = tokenLifetimeSeconds + MAX_CLOCK_SKEW_SECONDS
    return !!successor && clock() > secondsAfter(successor.signsFrom, lastUseSeconds)
  }

  async function reloadAfterMiss(): Promise<void> {
    if (isAhead(missAllowedAt, MISS_COOLDOWN_SECONDS, clock())) return
    missAllowedAt = secondsAfter(clock(), MISS_COOLDOWN_SECONDS)
    await reload()
  }

  async function find(kid: string): Promise<KeyObject | undefined> {
    if (!(await freshKeys()).some((key) => key.kid === kid)) await reloadAfterMiss()
    return (await freshKeys()).find((key) => key.kid === kid)?.publicKey
  }

  async function current(): Promise<SigningKey> {
    const fresh = await freshKeys()
    // No key is in force yet if this node's clock is behind that of the node that created the first key.
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
    const retired = keys.filter(isRetired).map(({ kid }) => kid)
    await store.remove(retired)
  }

  const published = async () => (await freshKeys()).map(publicJwk)
  const keySet: SigningKeys = { find, current, published, rotateWhenOlderThan }
  return { keys: keySet, load: reload }
}

export type SigningKey = {
  generation: number
  kid: string
  signsFrom: Date
  privateKey: KeyObject
  publicKey: KeyObject
}

type PublicJwk = webcrypto.JsonWebKey & { kid?: string }

const PURPOSE = 'signing key'

/** A new P-256 key, named by its RFC 7638 thumbprint. */
export function newSigningKey(generation: number, signsFrom: Date): SigningKey {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  return { generation, kid: thumbprint(publicKey), signsFrom, privateKey, publicKey }
}

const RSA_BITS = 2048

const makeKeyPair = promisify(generateKeyPair)

/** In a thread of Node's own, because it takes tenths of a second. */
async function newRsaKey(generation: number, signsFrom: Date): Promise<SigningKey> {
  const { privateKey, publicKey } = await makeKeyPair('rsa', { modulusLength: RSA_BITS })
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

/** The part of a key that may be published: the public half and how to use it. */
export function publicJwk(key: SigningKey): PublicJwk {
  const members = publicMembers(key.publicKey)
  const alg = members.kty === 'RSA' ? 'RS256' : 'ES256'
  return { ...members, kid: key.kid, alg, use: 'sig' }
}

/** RFC 7638: the required members in alphabetical order. */
function thumbprint(publicKey: KeyObject): string {
  const { crv, e, kty, n, x, y } = publicMembers(publicKey)
  return createHash('sha256').update(JSON.stringify({ crv, e, kty, n, x, y })).digest('base64url')
}

function publicMembers(publicKey: KeyObject): PublicJwk {
  const { kty, crv, x, y, n, e } = publicKey.export({ format: 'jwk' })
  return kty === 'RSA' ? { kty, n, e } : { kty, crv, x, y }
}
