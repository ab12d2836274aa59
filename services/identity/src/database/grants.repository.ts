import { type Db, fromRow, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { IdentityTables } from './tables.ts'

/** What a user has allowed a client. */
export type Grant = {
  clientId: string
  scopes: string[]
  resources: string[]
  createdAt: string
  lastUsedAt: string | null
}

type Key = { userId: number; clientId: string }

const grantByKey = prepared((db: Db<IdentityTables>, { userId, clientId }: Key) =>
  db
    .selectFrom('grants')
    .selectAll()
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId),
)

export async function findGrant(db: Db<IdentityTables>, key: Key): Promise<Grant | undefined> {
  const [row] = await grantByKey(db, key)
  return row && grantOf(row)
}

/** The last use is that of the client's newest session, or of its last sign-in. */
export async function listGrants(db: Db<IdentityTables>, userId: number): Promise<Grant[]> {
  const rows = await db
    .selectFrom('grants')
    .selectAll('grants')
    .select(({ selectFrom }) =>
      selectFrom('sessions')
        .select(({ fn }) => fn.max('sessions.last_used_at').as('used_at'))
        .whereRef('sessions.user_id', '=', 'grants.user_id')
        .whereRef('sessions.client_id', '=', 'grants.client_id')
        .as('session_used_at'),
    )
    .where('user_id', '=', userId)
    .orderBy('created_at', 'desc')
    .orderBy('client_id')
    .execute()
  return rows.map(({ session_used_at, ...row }) => {
    const uses = [row.last_used_at, session_used_at].filter((time) => time !== null)
    return grantOf({ ...row, last_used_at: uses.sort().at(-1) ?? null })
  })
}

/** Returns whether it is new. */
export async function saveGrant(
  db: Db<IdentityTables>,
  { userId, clientId }: Key,
  { scopes, resources, now }: { scopes: string[]; resources: string[]; now: Date },
): Promise<void> {
  const allowed = { scopes: JSON.stringify(scopes), resources: JSON.stringify(resources) }
  await db
    .insertInto('grants')
    .values({ user_id: userId, client_id: clientId, ...allowed, created_at: now.toISOString() })
    .onConflict((conflict) => conflict.columns(['user_id', 'client_id']).doUpdateSet(allowed))
    .execute()
}

const markUse = prepared(
  (db: Db<IdentityTables>, { userId, clientId, now }: Key & { now: string }) =>
    db
      .updateTable('grants')
      .set({ last_used_at: now })
      .where('user_id', '=', userId)
      .where('client_id', '=', clientId),
)

export async function markGrantUsed(db: Db<IdentityTables>, key: Key, now: Date): Promise<void> {
  await markUse(db, { ...key, now: now.toISOString() })
}

/** With what the user has let the client have, and it has not fetched yet: codes, and approvals of devices. */
export async function deleteGrant(
  db: Db<IdentityTables>,
  { userId, clientId }: Key,
): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('grants')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow()
  await db
    .deleteFrom('authorization_codes')
    .where('user_id', '=', userId)
    .where('client_id', '=', clientId)
    .where(sql<boolean>`used_at is null`)
    .execute()
  const own = db.selectFrom('sessions').select('sessions.id').where('user_id', '=', userId)
  await db
    .deleteFrom('device_requests')
    .where('client_id', '=', clientId)
    .where('state', '=', 'allowed')
    .where('session_id', 'in', own)
    .execute()
  await db
    .deleteFrom('authorizations')
    .where('client_id', '=', clientId)
    .where('state', '=', 'allowed')
    .where('session_id', 'in', own)
    .execute()
  return numDeletedRows > 0n
}

/** Of all clients, with the codes that they have not exchanged yet. */
export async function deleteGrantsOf(db: Db<IdentityTables>, userId: number): Promise<void> {
  await db.deleteFrom('grants').where('user_id', '=', userId).execute()
  await deleteUnusedCodes(db, userId)
}

export async function deleteUnusedCodes(db: Db<IdentityTables>, userId: number): Promise<void> {
  await db
    .deleteFrom('authorization_codes')
    .where('user_id', '=', userId)
    .where('used_at', 'is', null)
    .execute()
}

type GrantColumns = {
  client_id: string
  scopes: string
  resources: string
  created_at: string
  last_used_at: string | null
}

function grantOf(row: GrantColumns): Grant {
  const { client_id, scopes, resources, created_at, last_used_at } = row
  const times = fromRow({ client_id, created_at, last_used_at })
  return { ...times, scopes: JSON.parse(scopes), resources: JSON.parse(resources) }
}
