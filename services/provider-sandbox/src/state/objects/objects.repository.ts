import { type SelectQueryBuilder, sql } from 'kysely'
import type { SandboxDb, SandboxTables } from '../tables.ts'
import type { Hidden, Kind, ObjectKinds, ProviderObject } from './kinds.ts'

export async function insertObject(
  db: SandboxDb,
  object: ProviderObject,
  { parent = null, hidden = {} }: { parent?: string | null; hidden?: object } = {},
): Promise<void> {
  await db
    .insertInto('objects')
    .values({
      id: object.id,
      kind: object.object,
      created: 'created' in object ? object.created : 0,
      parent,
      body: JSON.stringify(object),
      hidden: JSON.stringify(hidden),
    })
    .execute()
}

export async function updateObject(db: SandboxDb, object: ProviderObject, hidden?: object) {
  const changed = {
    body: JSON.stringify(object),
    ...(hidden && { hidden: JSON.stringify(hidden) }),
  }
  await db.updateTable('objects').set(changed).where('id', '=', object.id).execute()
}

export async function deleteObject(db: SandboxDb, id: string): Promise<void> {
  await db.deleteFrom('objects').where('id', '=', id).execute()
}

const findRow = (db: SandboxDb, id: string) =>
  db.selectFrom('objects').selectAll().where('id', '=', id).executeTakeFirst()

export async function findObject<K extends Kind>(
  db: SandboxDb,
  kind: K,
  id: string,
): Promise<ObjectKinds[K] | undefined> {
  const row = await findRow(db, id)
  return row?.kind === kind ? JSON.parse(row.body) : undefined
}

/** An object and its hidden data, read together. */
export async function findWithHidden<K extends keyof Hidden>(
  db: SandboxDb,
  kind: K,
  id: string,
): Promise<{ object: ObjectKinds[K]; hidden: Hidden[K] } | undefined> {
  const row = await findRow(db, id)
  if (row?.kind !== kind) return undefined
  return { object: JSON.parse(row.body), hidden: JSON.parse(row.hidden) }
}

/** Any object, for `expand`. */
export async function findAnyObject(db: SandboxDb, id: string): Promise<object | undefined> {
  const row = await findRow(db, id)
  return row && JSON.parse(row.body)
}

export async function findParent(db: SandboxDb, id: string): Promise<string | undefined> {
  return (await findRow(db, id))?.parent ?? undefined
}

export type CreatedRange = { gt?: number; gte?: number; lt?: number; lte?: number }

export type ObjectFilter = {
  /** Members of the object and the value they must have. */
  where?: Record<string, string | undefined>
  /** Types of events; `*` stands for any characters. */
  types?: string[]
  created?: CreatedRange
  parent?: string
  /** Events whose deliveries have all arrived, or events with one that has not. */
  delivered?: boolean
}

type Cursor = { after?: string; before?: string; limit?: number }

/** Newest first, without deleted objects; `before` walks towards the newest. */
export async function listObjects<K extends Kind>(
  db: SandboxDb,
  kind: K,
  filter: ObjectFilter = {},
  { after, before, limit }: Cursor = {},
): Promise<ObjectKinds[K][]> {
  let query = filtered(db, kind, filter)
  const seqOf = (id: string) => db.selectFrom('objects').select('seq').where('id', '=', id)
  if (after !== undefined) query = query.where('seq', '<', seqOf(after))
  if (before !== undefined) query = query.where('seq', '>', seqOf(before))
  if (limit !== undefined) query = query.limit(limit)
  const rows = await query.orderBy('seq', before === undefined ? 'desc' : 'asc').execute()
  const objects = rows.map((row) => JSON.parse(row.body))
  return before === undefined ? objects : objects.reverse()
}

const CREATED_LIMITS = [
  ['gt', '>'],
  ['gte', '>='],
  ['lt', '<'],
  ['lte', '<='],
] as const

function filtered(
  db: SandboxDb,
  kind: Kind,
  { where = {}, types, created = {}, parent, delivered }: ObjectFilter,
): SelectQueryBuilder<SandboxTables, 'objects', { body: string }> {
  let query = db
    .selectFrom('objects')
    .select('body')
    .where('kind', '=', kind)
    .where(memberOf('deleted'), 'is', null)
  if (parent !== undefined) query = query.where('parent', '=', parent)
  if (delivered !== undefined)
    query = query.where((eb) => {
      const missing = eb
        .selectFrom('deliveries')
        .select('id')
        .whereRef('event_id', '=', 'objects.id')
        .where('state', '!=', 'delivered')
      return delivered ? eb.not(eb.exists(missing)) : eb.exists(missing)
    })
  if (types)
    query = query.where((eb) =>
      eb.or(types.map((type) => sql<boolean>`${memberOf('type')} glob ${type}`)),
    )
  for (const [member, value] of Object.entries(where))
    if (value !== undefined) query = query.where(memberOf(member), '=', value)
  for (const [limit, sign] of CREATED_LIMITS) {
    const moment = created[limit]
    if (moment !== undefined) query = query.where('created', sign, moment)
  }
  return query
}

function memberOf(name: string) {
  return sql<string | null>`json_extract(body, ${sql.lit(`$.${name}`)})`
}
