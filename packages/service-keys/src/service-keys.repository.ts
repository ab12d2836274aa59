import { type Db, idColumn, type LeaseTables, type Migration } from '@plinth/kit/database'
import type { Generated, Selectable } from 'kysely'

export type ServiceKeyTables = LeaseTables & {
  service_keys: {
    id: Generated<number>
    name: string
    start: string
    hash: string
    scopes: string
    allowed_cidrs: string
    created_by: string
    created_at: string
    expires_at: string
    last_used_at: Generated<string | null>
    last_used_address: Generated<string | null>
    revoked_at: Generated<string | null>
    replaces_id: number | null
    root_id: number | null
    /** How many days before expiry the last notice was given. */
    notice_days: Generated<number | null>
  }
}

export type ServiceKey = {
  id: number
  name: string
  /** The first characters, to tell keys apart. */
  start: string
  scopes: string[]
  /** The networks it may be used from; empty means everywhere. */
  allowedCidrs: string[]
  createdBy: string
  createdAt: Date
  expiresAt: Date
  lastUsedAt: Date | null
  lastUsedAddress: string | null
  revokedAt: Date | null
  replacesId: number | null
  /** The first key of a chain of rotations; null on that key itself. */
  rootId: number | null
}

export type NewServiceKey = Pick<
  ServiceKey,
  'name' | 'start' | 'scopes' | 'allowedCidrs' | 'createdBy' | 'createdAt' | 'expiresAt'
> & { hash: string; replacesId: number | null; rootId: number | null }

type KeyDb = Db<ServiceKeyTables>

export async function insertServiceKey(db: KeyDb, key: NewServiceKey): Promise<ServiceKey> {
  const row = await db
    .insertInto('service_keys')
    .values({
      name: key.name,
      start: key.start,
      hash: key.hash,
      scopes: JSON.stringify(key.scopes),
      allowed_cidrs: JSON.stringify(key.allowedCidrs),
      created_by: key.createdBy,
      created_at: key.createdAt.toISOString(),
      expires_at: key.expiresAt.toISOString(),
      replaces_id: key.replacesId,
      root_id: key.rootId,
    })
    .returningAll()
    .executeTakeFirstOrThrow()
  return keyOf(row)
}

export async function findServiceKeyByHash(
  db: KeyDb,
  hash: string,
): Promise<ServiceKey | undefined> {
  const row = await db
    .selectFrom('service_keys')
    .selectAll()
    .where('hash', '=', hash)
    .executeTakeFirst()
  return row && keyOf(row)
}

/** Newest first. */
export async function listServiceKeys(db: KeyDb): Promise<ServiceKey[]> {
  const rows = await db.selectFrom('service_keys').selectAll().orderBy('id', 'desc').execute()
  return rows.map(keyOf)
}

export async function findServiceKey(db: KeyDb, id: number): Promise<ServiceKey | undefined> {
  const row = await db
    .selectFrom('service_keys')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && keyOf(row)
}

/** Changes the expiry of a key that is still in force. */
export async function updateServiceKeyEnd(
  db: KeyDb,
  id: number,
  { now, expiresAt }: { now: Date; expiresAt: Date },
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('service_keys')
    .set({ expires_at: expiresAt.toISOString() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .where('expires_at', '>', now.toISOString())
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

/** Returns false if it was already revoked. */
export async function updateServiceKeyRevoked(db: KeyDb, id: number, now: Date): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('service_keys')
    .set({ revoked_at: now.toISOString() })
    .where('id', '=', id)
    .where('revoked_at', 'is', null)
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

export async function updateServiceKeyUsed(
  db: KeyDb,
  id: number,
  { at, address }: { at: Date; address: string },
): Promise<void> {
  await db
    .updateTable('service_keys')
    .set({ last_used_at: at.toISOString(), last_used_address: address })
    .where('id', '=', id)
    .execute()
}

export const SETTINGS = 'settings'

/** Actors that are not users. */
const NON_USERS = [SETTINGS, 'command line', 'delivery', 'anyone', 'configured key']

/** Service keys, erased users, and erased users of another issuer. */
const NON_USER_FORMS = [/^key-\d+$/, /^key \d+ \(/, /^user \d+$/, /^https?:\S+#\d+$/]

/**
 * Whether records use this name, or one that looks the same, for someone who is not a user. No user may choose
 * it; what is recorded under it is not the user's, even if an account from before that rule has the name.
 */
export function isReservedName(name: string): boolean {
  const plain = name.normalize('NFKC').toLowerCase().trim().replaceAll(/\s+/g, ' ')
  return NON_USERS.includes(plain) || NON_USER_FORMS.some((form) => form.test(plain))
}

/** Revokes the keys of an erased user. They stay in the list, but no longer say who made them. */
export async function endKeysMadeBy(
  db: Db<ServiceKeyTables>,
  username: string,
  { to, now }: { to: string; now: Date },
): Promise<void> {
  if (isReservedName(username)) return
  await db
    .updateTable('service_keys')
    .set(({ fn, val }) => ({
      created_by: to,
      revoked_at: fn.coalesce('revoked_at', val(now.toISOString())),
    }))
    .where('created_by', '=', username)
    .execute()
}

/** Returns false if this notice, or a later one, was already given. */
export async function updateKeyNotice(db: KeyDb, id: number, days: number): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('service_keys')
    .set({ notice_days: days })
    .where('id', '=', id)
    .where((row) => row.or([row('notice_days', 'is', null), row('notice_days', '>', days)]))
    .executeTakeFirst()
  return numUpdatedRows > 0n
}

function keyOf(row: Selectable<ServiceKeyTables['service_keys']>): ServiceKey {
  return {
    id: Number(row.id),
    name: row.name,
    start: row.start,
    scopes: JSON.parse(row.scopes),
    allowedCidrs: JSON.parse(row.allowed_cidrs),
    createdBy: row.created_by,
    createdAt: new Date(row.created_at),
    expiresAt: new Date(row.expires_at),
    lastUsedAt: row.last_used_at === null ? null : new Date(row.last_used_at),
    lastUsedAddress: row.last_used_address,
    revokedAt: row.revoked_at === null ? null : new Date(row.revoked_at),
    replacesId: row.replaces_id === null ? null : Number(row.replaces_id),
    rootId: row.root_id === null ? null : Number(row.root_id),
  }
}

export const serviceKeyMigrations: Migration[] = [
  {
    name: 'service-keys-0001-keys',
    async up(db, engine) {
      await db.schema
        .createTable('service_keys')
        .addColumn('id', ...idColumn(engine))
        .addColumn('name', 'varchar(100)', (column) => column.notNull())
        .addColumn('start', 'varchar(12)', (column) => column.notNull())
        .addColumn('hash', 'varchar(43)', (column) => column.notNull().unique())
        .addColumn('scopes', 'text', (column) => column.notNull())
        .addColumn('allowed_cidrs', 'text', (column) => column.notNull())
        .addColumn('created_by', 'text', (column) => column.notNull())
        .addColumn('created_at', 'text', (column) => column.notNull())
        .addColumn('expires_at', 'text', (column) => column.notNull())
        .addColumn('last_used_at', 'text')
        .addColumn('last_used_address', 'text')
        .addColumn('revoked_at', 'text')
        .addColumn('replaces_id', 'bigint')
        .addColumn('root_id', 'bigint')
        .execute()
      // One successor per key: of two concurrent rotations one wins.
      await db.schema
        .createIndex('service_keys_replaces')
        .on('service_keys')
        .column('replaces_id')
        .unique()
        .execute()
    },
  },
  {
    name: 'service-keys-0002-notices',
    async up(db) {
      await db.schema.alterTable('service_keys').addColumn('notice_days', 'integer').execute()
    },
  },
]
