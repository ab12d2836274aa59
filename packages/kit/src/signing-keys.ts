import type { KeyObject } from 'node:crypto'
import type { VerificationKeys } from './access-token.ts'
import { type Clock, secondsAfter } from './clock.ts'
import type { Db } from './database/open.ts'
import {
  newSigningKey,
  openSigningKey,
  type PublicJwk,
  publicJwk,
  type SigningKey,
  sealSigningKey,
} from './signing-key.ts'
import {
  deleteSigningKeys,
  insertSigningKey,
  listSigningKeys,
  type SigningKeyTables,
} from './signing-keys.repository.ts'

type SigningKeyOptions = {
  db: Db<SigningKeyTables>
  clock: Clock
  /** 32 bytes; the same on every node. */
  masterKey: Buffer
  tokenLifetimeSeconds: number
}

export type SigningKeys = VerificationKeys & {
  current(): Promise<SigningKey>
  published(): Promise<PublicJwk[]>
  /** Announces a successor when the newest key is older than this; any node may call it any time. */
  rotateWhenOlderThan(seconds: number): Promise<void>
}

/** A published key set may be kept this long, so a new key is announced longer than that before use. */
export const JWKS_MAX_AGE_SECONDS = 600
const ANNOUNCED_SECONDS = JWKS_MAX_AGE_SECONDS + 300
const RELOAD_SECONDS = 60
const MISS_COOLDOWN_SECONDS = 10

/**
 * The keys of one service, shared by its nodes through the database. Rows never change: which key
 * signs follows from their times alone, so nodes agree without talking. A key keeps verifying after
 * its successor took over until the last token it can have signed is dead. Whoever finds no key at
 * all, at the first start or because an operator deleted them, makes one that signs at once.
 */
export async function openSigningKeys(options: SigningKeyOptions): Promise<SigningKeys> {
  const { db, clock, masterKey, tokenLifetimeSeconds } = options
  let keys: SigningKey[] = []
  let reloadAt = clock()
  let missAllowedAt = clock()

  async function reload(): Promise<void> {
    const stored = await listSigningKeys(db)
    if (stored.length === 0) return add(1, clock())
    // An unchanged key stays the same object: verified tokens are remembered by it.
    keys = stored.map(
      (row) => keys.find(({ kid }) => kid === row.kid) ?? openSigningKey(row, masterKey),
    )
    reloadAt = secondsAfter(clock(), RELOAD_SECONDS)
  }

  async function add(generation: number, signsFrom: Date): Promise<void> {
    await insertSigningKey(db, sealSigningKey(newSigningKey(generation, signsFrom), masterKey))
    await reload()
  }

  async function freshKeys(): Promise<SigningKey[]> {
    if (clock() >= reloadAt) await reload()
    return keys.filter((key) => !isSpent(key))
  }

  function isSpent(key: SigningKey): boolean {
    const successor = keys.find(({ generation }) => generation > key.generation)
    const lastUseSeconds = tokenLifetimeSeconds + RELOAD_SECONDS
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
