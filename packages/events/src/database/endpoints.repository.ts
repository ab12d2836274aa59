import {
  engineOf,
  type FromRow,
  forUpdate,
  fromRow,
  inTransaction,
  prepared,
  toRow,
} from '@plinth/kit/database'
import type { Sealed } from '@plinth/kit/tokens'
import { isReservedName } from '@plinth/service-keys'
import { sql } from 'kysely'
import type { Db, EndpointRow, EndpointState } from './tables.ts'

export type { EndpointState } from './tables.ts'

type OldSecret = { secret: Sealed; until: string }

/** Its secrets are sealed. */
export type Endpoint = Omit<FromRow<EndpointRow>, 'types' | 'oldSecrets' | 'warned'> & {
  types: string[]
  oldSecrets: OldSecret[]
  /** Whether operators were warned about the current series of failures. */
  warned: boolean
}

const COUNTING_LOCK = 7_264_110

/** False when there are `most` endpoints already, even if several are inserted at the same time. */
export async function insertEndpoint(db: Db, endpoint: Endpoint, most: number): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    if (engineOf(db) === 'postgres')
      await sql`select pg_advisory_xact_lock(${COUNTING_LOCK})`.execute(transaction)
    const { total } = await transaction
      .selectFrom('event_endpoints')
      .select(({ fn }) => fn.countAll<number>().as('total'))
      .executeTakeFirstOrThrow()
    if (total >= most) return false
    await transaction.insertInto('event_endpoints').values(rowOf(endpoint)).execute()
    return true
  })
}

/** Oldest first. */
export async function listEndpoints(db: Db): Promise<Endpoint[]> {
  const rows = await db
    .selectFrom('event_endpoints')
    .selectAll()
    .orderBy('created_at')
    .orderBy('id')
    .execute()
  return rows.map(endpointOf)
}

export async function findEndpoint(db: Db, id: string): Promise<Endpoint | undefined> {
  const query = db.selectFrom('event_endpoints').selectAll().where('id', '=', id)
  const row = await query.executeTakeFirst()
  return row && endpointOf(row)
}

export async function findEndpointForUpdate(db: Db, id: string): Promise<Endpoint | undefined> {
  const query = db.selectFrom('event_endpoints').selectAll().where('id', '=', id)
  const row = await forUpdate(db, query).executeTakeFirst()
  return row && endpointOf(row)
}

/** Replaces the creator's user name; the endpoints stay. */
export async function renameEndpointCreator(db: Db, username: string, to: string): Promise<void> {
  if (isReservedName(username)) return
  await db
    .updateTable('event_endpoints')
    .set({ created_by: to })
    .where('created_by', '=', username)
    .execute()
}

export async function updateEndpoint(db: Db, endpoint: Endpoint): Promise<void> {
  const { id, ...row } = rowOf(endpoint)
  await db.updateTable('event_endpoints').set(row).where('id', '=', id).execute()
}

/** Also deletes the deliveries of the endpoint and their attempts. */
export async function deleteEndpoint(db: Db, id: string): Promise<boolean> {
  return inTransaction(db, async (transaction) => {
    const { numDeletedRows } = await transaction
      .deleteFrom('event_endpoints')
      .where('id', '=', id)
      .executeTakeFirst()
    const deliveries = transaction
      .selectFrom('event_deliveries')
      .select('id')
      .where('endpoint_id', '=', id)
    // Wait for attempts that are being recorded, so that the next statement sees them.
    if (engineOf(db) === 'postgres')
      await sql`select count(*) from (${deliveries.forUpdate()}) as held`.execute(transaction)
    await transaction.deleteFrom('event_attempts').where('delivery_id', 'in', deliveries).execute()
    await transaction.deleteFrom('event_deliveries').where('endpoint_id', '=', id).execute()
    return numDeletedRows > 0n
  })
}

const NOTE_EVERY_MS = 60_000

/** Written at most once a minute per endpoint, except that a success after a failure is written at once. */
export async function updateEndpointSuccess(db: Db, id: string, now: Date): Promise<void> {
  const recently = new Date(now.getTime() - NOTE_EVERY_MS).toISOString()
  await noteSuccess(db, { id, at: now.toISOString(), recently })
}

const noteSuccess = prepared((db: Db, { id, at, recently }: Success) =>
  db
    .updateTable('event_endpoints')
    .set({ first_failure_at: null, last_success_at: at, warned: 0 })
    .where('id', '=', id)
    .where(
      sql<boolean>`(first_failure_at is not null or last_success_at is null or last_success_at <= ${recently})`,
    ),
)

type Success = { id: string; at: string; recently: string }

export async function updateEndpointFailure(
  db: Db,
  { id, firstFailureAt }: Endpoint,
  now: Date,
): Promise<void> {
  if (firstFailureAt !== null) return
  await db
    .updateTable('event_endpoints')
    .set({ first_failure_at: now.toISOString() })
    .where('id', '=', id)
    .where('first_failure_at', 'is', null)
    .execute()
}

export async function countEndpoints(db: Db): Promise<Record<EndpointState, number>> {
  const rows = await db
    .selectFrom('event_endpoints')
    .select(({ fn }) => ['state', fn.countAll<number>().as('total')])
    .groupBy('state')
    .execute()
  const counted = Object.fromEntries(rows.map(({ state, total }) => [state, total]))
  return { active: 0, paused: 0, disabled: 0, ...counted }
}

function rowOf({ types, oldSecrets, warned, ...endpoint }: Endpoint): EndpointRow {
  return toRow<EndpointRow>({
    ...endpoint,
    types: JSON.stringify(types),
    oldSecrets: JSON.stringify(oldSecrets),
    warned: warned ? 1 : 0,
  })
}

export function endpointOf({ types, old_secrets, warned, ...row }: EndpointRow): Endpoint {
  return {
    ...fromRow(row),
    types: JSON.parse(types),
    oldSecrets: JSON.parse(old_secrets),
    warned: warned === 1,
  }
}
