import { type Db, forUpdate, type PageRequest, prepared } from '@plinth/kit'
import type {
  PaymentTables,
  WebhookEventRow,
  WebhookEventStatus,
} from '../payment/database/tables.ts'

/** A proven event in the inbox. */
export type InboxEvent = {
  id: string
  type: string
  status: WebhookEventStatus
  source: 'webhook' | 'poll'
  body: string
  paymentId: string | null
  parkedFor: string | null
  tries: number
  nextTryAt: string | null
  error: string | null
  receivedAt: string
  processedAt: string | null
}

/** A proven event as far as the inbox keeps it. */
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

const claim = prepared((db: Db<PaymentTables>, row: WebhookEventRow) =>
  db
    .insertInto('webhook_events')
    .values(row)
    .onConflict((conflict) => conflict.column('id').doNothing())
    .returning('id'),
)

/** One claim per event id: false when it was claimed before. Another node's open claim is awaited. */
export async function claimEvent(db: Db<PaymentTables>, event: InboxEvent): Promise<boolean> {
  const claimed = await claim(db, toRow(event))
  return claimed.length === 1
}

export async function findEvent(
  db: Db<PaymentTables>,
  id: string,
): Promise<InboxEvent | undefined> {
  const row = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('id', '=', id)
    .executeTakeFirst()
  return row && toEvent(row)
}

const byIdForUpdate = prepared((db: Db<PaymentTables>, { id }: { id: string }) =>
  forUpdate(db, db.selectFrom('webhook_events').selectAll().where('id', '=', id)),
)

export async function findEventForUpdate(
  db: Db<PaymentTables>,
  id: string,
): Promise<InboxEvent | undefined> {
  const [row] = await byIdForUpdate(db, { id })
  return row && toEvent(row)
}

export async function updateEvent(db: Db<PaymentTables>, event: InboxEvent): Promise<void> {
  const { id, ...content } = toRow(event)
  await db.updateTable('webhook_events').set(content).where('id', '=', id).execute()
}

export async function listKnownEventIds(
  db: Db<PaymentTables>,
  ids: string[],
): Promise<Set<string>> {
  if (ids.length === 0) return new Set()
  const rows = await db.selectFrom('webhook_events').select('id').where('id', 'in', ids).execute()
  return new Set(rows.map(({ id }) => id))
}

export async function listEventsToRetry(
  db: Db<PaymentTables>,
  now: Date,
  limit: number,
): Promise<InboxEvent[]> {
  const rows = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('next_try_at', '<=', now.toISOString())
    .orderBy('next_try_at')
    .limit(limit)
    .execute()
  return rows.map(toEvent)
}

export async function listParkedEvents(
  db: Db<PaymentTables>,
  businessReference: string,
): Promise<InboxEvent[]> {
  const rows = await db
    .selectFrom('webhook_events')
    .selectAll()
    .where('parked_for', '=', businessReference)
    .orderBy('received_at')
    .execute()
  return rows.map(toEvent)
}

const SORT_COLUMNS = { receivedAt: 'received_at', type: 'type', status: 'status' } as const

export const EVENT_SORTS = Object.keys(SORT_COLUMNS)

export async function listEvents(
  db: Db<PaymentTables>,
  filter: { status?: string; type?: string },
  page: PageRequest,
): Promise<{ events: InboxEvent[]; total: number }> {
  let query = db.selectFrom('webhook_events')
  if (filter.status) query = query.where('status', '=', filter.status as WebhookEventStatus)
  if (filter.type) query = query.where('type', '=', filter.type)
  const { total } = await query
    .select((select) => select.fn.countAll<number>().as('total'))
    .executeTakeFirstOrThrow()

  let rows = query.selectAll()
  for (const { property, direction } of page.sort)
    rows = rows.orderBy(SORT_COLUMNS[property as keyof typeof SORT_COLUMNS], direction)
  rows = rows.orderBy('received_at', 'desc').orderBy('id')
  const found = await rows.limit(page.size).offset(page.offset).execute()
  return { events: found.map(toEvent), total }
}

function toRow(event: InboxEvent): WebhookEventRow {
  return {
    id: event.id,
    type: event.type,
    status: event.status,
    source: event.source,
    body: event.body,
    payment_id: event.paymentId,
    parked_for: event.parkedFor,
    tries: event.tries,
    next_try_at: event.nextTryAt,
    error: event.error,
    received_at: event.receivedAt,
    processed_at: event.processedAt,
  }
}

function toEvent(row: WebhookEventRow): InboxEvent {
  return {
    id: row.id,
    type: row.type,
    status: row.status,
    source: row.source,
    body: row.body,
    paymentId: row.payment_id,
    parkedFor: row.parked_for,
    tries: row.tries,
    nextTryAt: row.next_try_at,
    error: row.error,
    receivedAt: row.received_at,
    processedAt: row.processed_at,
  }
}
