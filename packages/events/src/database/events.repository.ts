import { inTransaction } from '@plinth/kit/database'
import { firstEventIdAt } from './outbox.repository.ts'
import { lastPlace } from './places.repository.ts'
import type { AttemptRow, Db, DeliveryState, EndpointState, Trigger } from './tables.ts'

type StoredEvent = {
  serial: number
  id: string
  type: string
  endpointId: string | null
  createdAt: string
  body: string
}

export type EventFilter = {
  types?: string[]
  subject?: string
  since?: Date
  /** Only events with a delivery in this state. */
  state?: DeliveryState
}

type Reading = EventFilter & {
  /** The reader's position: only events beyond it, in the given order, are read. */
  after?: number
  order: 'asc' | 'desc'
  limit: number
}

/** The events in the list, in order; the outbox is not read. */
export async function listEvents(
  db: Db,
  { after, order, limit, types, subject, since, state }: Reading,
): Promise<StoredEvent[]> {
  let query = db
    .selectFrom('events')
    .select(['serial', 'id', 'type', 'endpoint_id', 'created_at', 'body'])
  if (after !== undefined) query = query.where('serial', order === 'asc' ? '>' : '<', after)
  if (types?.length) query = query.where('type', 'in', types)
  if (subject !== undefined) query = query.where('subject', '=', subject)
  if (since) query = query.where('created_at', '>=', since.toISOString())
  if (state)
    query = query.where(({ exists, selectFrom }) =>
      exists(
        selectFrom('event_deliveries')
          .select('event_deliveries.id')
          .whereRef('event_serial', '=', 'events.serial')
          .where('state', '=', state),
      ),
    )
  const rows = await query.orderBy('serial', order).limit(limit).execute()
  return rows.map(eventOf)
}

/** Undefined when the event does not exist or was deleted. */
export async function findPlace(db: Db, id: string): Promise<number | undefined> {
  const row = await db.selectFrom('events').select('serial').where('id', '=', id).executeTakeFirst()
  return row?.serial
}

/** The end of the list; without an id while the list is empty. */
export async function findLast(db: Db): Promise<{ place: number; id: string | undefined }> {
  const row = await db
    .selectFrom('events')
    .select(['serial', 'id'])
    .orderBy('serial', 'desc')
    .limit(1)
    .executeTakeFirst()
  return { place: row?.serial ?? 0, id: row?.id }
}

export async function findEvent(db: Db, id: string): Promise<StoredEvent | undefined> {
  const row = await db
    .selectFrom('events')
    .select(['serial', 'id', 'type', 'endpoint_id', 'created_at', 'body'])
    .where('id', '=', id)
    .executeTakeFirst()
  return row && eventOf(row)
}

function eventOf({
  endpoint_id,
  created_at,
  ...row
}: Omit<StoredEvent, 'endpointId' | 'createdAt'> & {
  endpoint_id: string | null
  created_at: string
}): StoredEvent {
  return { ...row, endpointId: endpoint_id, createdAt: created_at }
}

export type Delivery = {
  id: number
  endpointId: string
  url: string
  endpointState: EndpointState
  state: DeliveryState
  nextAttemptAt: string | null
  attempts: {
    n: number
    at: string
    durationMs: number
    status: number | null
    error: string | null
    reply: string | null
    trigger: Trigger
  }[]
}

export async function listDeliveriesOf(db: Db, serial: number): Promise<Delivery[]> {
  const rows = await db
    .selectFrom('event_deliveries')
    .innerJoin('event_endpoints', 'event_endpoints.id', 'event_deliveries.endpoint_id')
    .select(['event_deliveries.id', 'endpoint_id', 'url', 'next_attempt_at'])
    .select(['event_deliveries.state', 'event_endpoints.state as endpoint_state'])
    .where('event_serial', '=', serial)
    .orderBy('event_deliveries.id')
    .execute()
  if (rows.length === 0) return []
  const attempts = await db
    .selectFrom('event_attempts')
    .selectAll()
    .where(
      'delivery_id',
      'in',
      rows.map(({ id }) => id),
    )
    .orderBy('n')
    .execute()
  return rows.map((row) => ({
    id: row.id,
    endpointId: row.endpoint_id,
    url: row.url,
    endpointState: row.endpoint_state,
    state: row.state,
    nextAttemptAt: row.next_attempt_at,
    attempts: attempts.filter(({ delivery_id }) => delivery_id === row.id).map(attemptOf),
  }))
}

function attemptOf({ n, at, duration_ms, status, error, reply, trigger }: AttemptRow) {
  return { n, at, durationMs: duration_ms, status, error, reply, trigger }
}

const BATCH = 500

/** Deletes old events with their deliveries in batches; always keeps the newest event. */
export async function deleteOldEvents(db: Db, before: Date, signal: AbortSignal): Promise<void> {
  let deleted = BATCH
  while (deleted === BATCH && !signal.aborted)
    deleted = await inTransaction(db, async (transaction) => {
      const rows = await transaction
        .selectFrom('events')
        .select(['serial', 'type', 'subject'])
        .where('id', '<', firstEventIdAt(before))
        .where('serial', '<', await lastPlace(transaction))
        .orderBy('id')
        .limit(BATCH)
        .execute()
      const serials = rows.map(({ serial }) => serial)
      if (serials.length === 0) return 0
      const deliveries = transaction
        .selectFrom('event_deliveries')
        .select('id')
        .where('event_serial', 'in', serials)
      await transaction
        .deleteFrom('event_attempts')
        .where('delivery_id', 'in', deliveries)
        .execute()
      await transaction
        .deleteFrom('event_deliveries')
        .where('event_serial', 'in', serials)
        .execute()
      await transaction.deleteFrom('event_forwards').where('event_serial', 'in', serials).execute()
      await keepSequences(transaction, serials)
      await transaction.deleteFrom('events').where('serial', 'in', serials).execute()
      const gone = deletedSubjects(rows)
      if (gone.length > 0)
        await transaction.deleteFrom('event_subjects').where('subject', 'in', gone).execute()
      return serials.length
    })
}

type Pruned = { serial: number; type: string; subject: string }

/**
 * A deleted subject has no further events, so its sequence is no longer needed. A restored one has: its last
 * event is not its deletion.
 */
function deletedSubjects(rows: Pruned[]): string[] {
  const inOrder = rows.toSorted((left, right) => left.serial - right.serial)
  const lastTypes = new Map(inOrder.map(({ subject, type }) => [subject, type]))
  return [...lastTypes].flatMap(([subject, type]) => (type.endsWith('.deleted') ? subject : []))
}

/** Later events of the same subjects continue their sequence. */
async function keepSequences(db: Db, serials: number[]): Promise<void> {
  await db
    .insertInto('event_subjects')
    .columns(['subject', 'sequence'])
    .expression((from) =>
      from
        .selectFrom('events')
        .select(({ fn }) => ['subject', fn.max<number>('sequence').as('sequence')])
        .where('serial', 'in', serials)
        .groupBy('subject'),
    )
    .onConflict((conflict) =>
      conflict
        .column('subject')
        .doUpdateSet(({ ref }) => ({ sequence: ref('excluded.sequence') }))
        .whereRef('event_subjects.sequence', '<', 'excluded.sequence'),
    )
    .execute()
}
