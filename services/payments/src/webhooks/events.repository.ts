import {
  type FromRow,
  forUpdate,
  fromRow,
  type PageRequest,
  prepared,
  selectPage,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import type { Db, WebhookEventRow, WebhookEventStatus } from '../payment/database/tables.ts'

export type InboxEvent = FromRow<WebhookEventRow>

/** The part of a verified event that the inbox stores. */
export type ArrivedEvent = {
  event: { id: string; type: string }
  body: string
  source: 'webhook' | 'poll'
}

export function newInboxEvent({ event, body, source }: ArrivedEvent, at: Date): InboxEvent {
  const now = at.toISOString()
  return {
    id: event.id,
    type: event.type,
    status: 'PROCESSED',
    source,
    body,
    paymentId: null,
    parkedFor: null,
    tries: 1,
    nextTryAt: null,
    error: null,
    receivedAt: now,
    processedAt: now,
  }
}

const claim = prepared((db: Db, event: InboxEvent) =>
  db
    .insertInto('webhook_events')
    .values(toRow<WebhookEventRow>(event))
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id'),
)

/** One claim per event id: false when it was claimed before. Waits for another node's uncommitted claim. */
export async function claimEvent(db: Db, event: InboxEvent): Promise<boolean> {
  const claimed = await claim(db, event)
  return claimed.length === 1
}

export async function findEvent(db: Db, id: string): Promise<InboxEvent | undefined> {
  const row = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && fromRow(row)
}

const byIdForUpdate = prepared((db: Db, { id }: { id: string }) =>
  forUpdate(db, db.selectFrom('webhook_events').selectAll().where('id', '=', id)),
)

export async function findEventForUpdate(db: Db, id: string): Promise<InboxEvent | undefined> {
  const [row] = await byIdForUpdate(db, { id })
  return row && fromRow(row)
}

export async function updateEvent(db: Db, event: InboxEvent): Promise<void> {
  const { id, ...content } = toRow<WebhookEventRow>(event)
  await db.updateTable('webhook_events').set(content).where('id', '=', id).execute()
}

export async function listKnownEventIds(db: Db, ids: string[]): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.selectFrom('webhook_events').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

export async function listEventsToRetry(db: Db, now: Date, limit: number): Promise<InboxEvent[]> {
  const rows = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('next_try_at', '<=', now.toISOString())
    .orderBy('next_try_at')
    .limit(limit)
    .execute()
  return rows.map(fromRow)
}

export async function countEventsToRetry(db: Db): Promise<number> {
  const { total } = await db
    .selectFrom('webhook_events')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('next_try_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return total
}

export async function listParkedEvents(db: Db, businessReference: string): Promise<InboxEvent[]> {
  const rows = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('parked_for', '=', businessReference)
    .orderBy('received_at')
    .execute()
  return rows.map(fromRow)
}

export const EVENT_SORTS = ['receivedAt', 'type', 'status']

export async function listEvents(
  db: Db,
  filter: { status?: string; type?: string },
  page: PageRequest,
): Promise<{ events: InboxEvent[]; total: number }> {
  let query = db.selectFrom('webhook_events')
  if (filter.status) query = query.where('status', '=', filter.status as WebhookEventStatus)
  if (filter.type) query = query.where('type', '=', filter.type)
  const { rows, total } = await selectPage(query, page, (found) =>
    sortRows(found, page.sort).orderBy('received_at', 'desc').orderBy('id'),
  )
  return { events: rows.map(fromRow), total }
}
