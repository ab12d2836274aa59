import { type Db, inTransaction, isUniqueViolation } from '@plinth/kit/database'
import type { Caller } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { type Clock, DAY_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { type KeyRequest, type MakerKey, requireWithin, rightsIn } from './key-rights.ts'
import { type KeyMode, newKeyText, startOfKey } from './key-text.ts'
import { DEFAULT_OVERLAP_SECONDS, MAX_OVERLAP_SECONDS } from './limits.ts'
import { keyEnded, keyUnknown } from './problems.ts'
import {
  findServiceKey,
  insertServiceKey,
  isReservedName,
  listServiceKeys,
  type NewServiceKey,
  type ServiceKey,
  type ServiceKeyTables,
  updateServiceKeyEnd,
  updateServiceKeyRevoked,
} from './service-keys.repository.ts'

export type { ServiceKey } from './service-keys.repository.ts'

const DEFAULT_LIFETIME_DAYS = 365

/** The keys of one service: where they are stored, and which scopes they can have. */
export type ServiceKeys<S extends string = string> = {
  db: Db<ServiceKeyTables>
  clock: Clock
  mode: KeyMode
  scopes: readonly S[]
  /** Writes the audit event, in the transaction of the change if there is one. */
  record(db: Db<ServiceKeyTables>, event: KeyEvent): Promise<void>
  /** Throws, in the transaction that issues a key, if the user may no longer do it. */
  admit?(db: Db<ServiceKeyTables>, caller: Caller): Promise<void>
}

/** What the audit of a service records about its keys. */
export const KEY_AUDIT_EVENTS = [
  'SERVICE_KEY_CREATED',
  'SERVICE_KEY_ROTATED',
  'SERVICE_KEY_REVOKED',
  'SERVICE_KEY_REFUSED',
  'SERVICE_KEY_EXPIRING',
] as const

export type KeyAuditEvent = (typeof KEY_AUDIT_EVENTS)[number]

export type KeyEvent = {
  event: KeyAuditEvent
  /** Who did it; null for a refused key, whose sender is unknown, and for an expiring one. */
  actor: string | null
  /** The key it is about. */
  subject: string
  keyId: number
  origin: KeyOrigin
}

type KeyOrigin = { address: string; requestId: string | null }

/** Who changes keys, and from where: in a request, `key` or `caller` is set. */
export type KeyActor = { actor: string; origin: KeyOrigin; key?: MakerKey; caller?: Caller }

type HostOptions<T, S extends string> = {
  clock: Clock
  production: boolean
  scopes: readonly S[]
  record(db: Db<T>, event: KeyEvent): Promise<void>
  admit?(db: Db<T>, caller: Caller): Promise<void>
}

/** The keys in a database whose schema includes `serviceKeyMigrations`. */
export function openServiceKeys<T extends ServiceKeyTables, S extends string>(
  db: Db<T>,
  options: HostOptions<NoInfer<T>, S>,
): ServiceKeys<S>
/** Kysely compares tables only when they are known, so what is generic for the host is not for the rules. */
export function openServiceKeys(
  db: Db<ServiceKeyTables>,
  { clock, production, scopes, record, admit }: HostOptions<ServiceKeyTables, string>,
): ServiceKeys {
  return {
    db,
    clock,
    mode: production ? 'live' : 'test',
    scopes,
    record,
    ...(admit && { admit }),
  }
}

/** The secret is returned once, when it is created, and never stored. */
export type IssuedKey = { key: ServiceKey; secret: string }

export async function createServiceKey(
  keys: ServiceKeys,
  { name, lifetimeDays = DEFAULT_LIFETIME_DAYS, ...wanted }: KeyRequest,
  { key: maker, caller, ...by }: KeyActor,
): Promise<IssuedKey> {
  const rights = rightsIn(wanted, keys.scopes, maker)
  return inTransaction(keys.db, async (db) => {
    if (caller) await keys.admit?.(db, caller)
    const issued = await issue(keys, db, {
      ...rights,
      name: name.trim(),
      createdBy: by.actor,
      expiresAt: secondsAfter(keys.clock(), lifetimeDays * DAY_SECONDS),
      replacesId: null,
      rootId: null,
    })
    await keys.record(db, { ...by, event: 'SERVICE_KEY_CREATED', ...namedKey(issued.key) })
    return issued
  })
}

/** Issues a new secret with the same rights; the old one stays valid for the overlap. */
export async function rotateServiceKey(
  keys: ServiceKeys,
  id: number,
  change: { overlapSeconds?: number; by: KeyActor },
): Promise<IssuedKey> {
  const { overlapSeconds = DEFAULT_OVERLAP_SECONDS } = change
  const { key: maker, caller, ...by } = change.by
  if (overlapSeconds > MAX_OVERLAP_SECONDS)
    throw validationFailed([`overlapSeconds: must be at most ${MAX_OVERLAP_SECONDS}`])
  const old = await requireServiceKey(keys, id)
  if (maker) requireWithin(old, maker)
  const now = keys.clock()
  const lifetime = old.expiresAt.getTime() - old.createdAt.getTime()
  const end = secondsAfter(now, overlapSeconds)
  try {
    return await inTransaction(keys.db, async (db) => {
      if (caller) await keys.admit?.(db, caller)
      const expiresAt = end < old.expiresAt ? end : old.expiresAt
      if (!(await updateServiceKeyEnd(db, id, { now, expiresAt }))) throw keyEnded()
      const issued = await issue(keys, db, {
        ...old,
        createdBy: by.actor,
        expiresAt: new Date(now.getTime() + lifetime),
        replacesId: id,
        rootId: old.rootId ?? id,
      })
      await keys.record(db, { ...by, event: 'SERVICE_KEY_ROTATED', ...namedKey(issued.key) })
      return issued
    })
  } catch (error) {
    throw isUniqueViolation(error, 'replaces') ? keyEnded({ cause: error }) : error
  }
}

/** Revokes a key at once. Revoking it again changes nothing. */
export async function revokeServiceKey(
  keys: ServiceKeys,
  id: number,
  { key: _, caller: __, ...by }: KeyActor,
): Promise<void> {
  const key = await requireServiceKey(keys, id)
  await inTransaction(keys.db, async (db) => {
    if (!(await updateServiceKeyRevoked(db, id, keys.clock()))) return
    await keys.record(db, { ...by, event: 'SERVICE_KEY_REVOKED', ...namedKey(key) })
  })
}

/** Revokes every key a user made, in the caller's transaction: a user who leaves still knows the secrets. */
export async function revokeKeysMadeBy(
  keys: ServiceKeys,
  db: Db<ServiceKeyTables>,
  username: string,
  by: KeyActor,
): Promise<void> {
  for (const key of await keysMadeBy(db, username))
    if (await updateServiceKeyRevoked(db, key.id, keys.clock()))
      await keys.record(db, { ...by, event: 'SERVICE_KEY_REVOKED', ...namedKey(key) })
}

/** Newest first. */
export async function keysMadeBy(
  db: Db<ServiceKeyTables>,
  username: string,
): Promise<ServiceKey[]> {
  if (isReservedName(username)) return []
  const all = await listServiceKeys(db)
  return all.filter(({ createdBy }) => createdBy === username)
}

export function allServiceKeys({ db }: ServiceKeys): Promise<ServiceKey[]> {
  return listServiceKeys(db)
}

/** Whether a key, and so any token issued for it, is still in force. */
export async function isServiceKeyInForce(keys: ServiceKeys, id: number): Promise<boolean> {
  const key = await findServiceKey(keys.db, id)
  return key !== undefined && isInForce(key, keys.clock())
}

const CALLER = 'key-'

/** The caller that a key authenticates: a rotated key is the same caller as the key it replaced. */
export function keyCaller({ id, rootId }: ServiceKey): string {
  return `${CALLER}${rootId ?? id}`
}

export function isKeyCaller(userId: string): boolean {
  return userId.startsWith(CALLER)
}

/** Whether any key of this caller is still in force. */
export async function isKeyCallerInForce(keys: ServiceKeys, userId: string): Promise<boolean> {
  const now = keys.clock()
  const all = await listServiceKeys(keys.db)
  return all.some((key) => keyCaller(key) === userId && isInForce(key, now))
}

export function isInForce({ revokedAt, expiresAt }: ServiceKey, now: Date): boolean {
  return revokedAt === null && now < expiresAt
}

/** How the audit names a key. */
export function namedKey({ id, name }: Pick<ServiceKey, 'id' | 'name'>) {
  return { subject: `key ${id} (${name})`, keyId: id }
}

async function requireServiceKey({ db }: ServiceKeys, id: number): Promise<ServiceKey> {
  const key = await findServiceKey(db, id)
  if (!key) throw keyUnknown()
  return key
}

async function issue(
  { clock, mode }: ServiceKeys,
  db: Db<ServiceKeyTables>,
  key: Omit<NewServiceKey, 'start' | 'hash' | 'createdAt'>,
): Promise<IssuedKey> {
  const secret = newKeyText(mode)
  const row = { ...key, start: startOfKey(secret), hash: hashOpaqueToken(secret) }
  return { secret, key: await insertServiceKey(db, { ...row, createdAt: clock() }) }
}
