import type { ExpressionBuilder, Selectable } from 'kysely'
import type { SandboxDb, SandboxTables } from '../../state/tables.ts'

/** One event on its way to one endpoint. */
export type Delivery = {
  id: number
  eventId: string
  endpointId: string
  state: DeliveryState
  attempts: number
  nextAttemptAt: string
}

type DeliveryState = 'waiting' | 'delivered' | 'failed' | 'dropped'

/** One request, and what came back. */
export type Attempt = {
  at: string
  milliseconds: number
  request: { headers: Record<string, string>; body: string }
  response: { status: number; headers: Record<string, string>; body: string } | null
  error: string | null
}

export async function insertDelivery(db: SandboxDb, delivery: Omit<Delivery, 'id' | 'attempts'>) {
  const { eventId, endpointId, state, nextAttemptAt } = delivery
  await db
    .insertInto('deliveries')
    .values({
      event_id: eventId,
      endpoint_id: endpointId,
      state,
      attempts: 0,
      next_attempt_at: nextAttemptAt,
    })
    .execute()
}

const selectDeliveries = (db: SandboxDb) =>
  db
    .selectFrom('deliveries')
    .select(['id', 'event_id as eventId', 'endpoint_id as endpointId', 'attempts'])
    .select((eb) => eb.ref('state').$castTo<DeliveryState>().as('state'))
    .select('next_attempt_at as nextAttemptAt')

/** `subject` is the session or customer that the event is about. */
export type DueDelivery = Delivery & { subject: string }

/** What is due at `now`, in the order in which it became due. */
export async function listDueDeliveries(
  db: SandboxDb,
  now: Date,
  limit: number,
): Promise<DueDelivery[]> {
  return selectDeliveries(db)
    .select((eb) => eb.fn.coalesce(parentOf(eb), 'event_id').as('subject'))
    .where('state', '=', 'waiting')
    .where('next_attempt_at', '<=', now.toISOString())
    .orderBy('next_attempt_at')
    .orderBy('id')
    .limit(limit)
    .execute()
}

const parentOf = (eb: ExpressionBuilder<SandboxTables, 'deliveries'>) =>
  eb.selectFrom('objects').select('parent').whereRef('objects.id', '=', 'deliveries.event_id')

/** Newest first. */
export async function listDeliveries(db: SandboxDb, limit: number, eventId?: string) {
  const query = selectDeliveries(db).orderBy('id', 'desc').limit(limit)
  return (eventId === undefined ? query : query.where('event_id', '=', eventId)).execute()
}

/**
 * Stores an attempt and the state after it. False when the delivery is no longer the one that was
 * sent, because a reset or a loaded scenario has replaced it.
 */
export async function recordAttempt(
  db: SandboxDb,
  { id, eventId, attempts }: Delivery,
  attempt: Attempt,
  next: Partial<Pick<Delivery, 'state' | 'nextAttemptAt'>>,
): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('deliveries')
    .set({ attempts: attempts + 1, state: next.state, next_attempt_at: next.nextAttemptAt })
    .where('id', '=', id)
    .where('event_id', '=', eventId)
    .where('attempts', '=', attempts)
    .executeTakeFirst()
  if (numUpdatedRows === 0n) return false
  const { request, response } = attempt
  await db
    .insertInto('delivery_attempts')
    .values({
      delivery_id: id,
      at: attempt.at,
      request_headers: JSON.stringify(request.headers),
      request_body: request.body,
      status: response?.status ?? null,
      response_headers: JSON.stringify(response?.headers ?? {}),
      response_body: response?.body ?? '',
      error: attempt.error,
      milliseconds: attempt.milliseconds,
    })
    .execute()
  return true
}

/** For a delivery whose event or endpoint is gone. */
export async function updateFailed(db: SandboxDb, id: number): Promise<void> {
  await db.updateTable('deliveries').set({ state: 'failed' }).where('id', '=', id).execute()
}

/** The attempts of each delivery, in order. */
export async function listAttempts(
  db: SandboxDb,
  deliveries: Delivery[],
): Promise<Map<number, Attempt[]>> {
  const ids = deliveries.map(({ id }) => id)
  const rows = await db
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('delivery_id', 'in', ids)
    .orderBy('id')
    .execute()
  const attempts = new Map<number, Attempt[]>(ids.map((id) => [id, []]))
  for (const row of rows) attempts.get(row.delivery_id)?.push(attemptOf(row))
  return attempts
}

function attemptOf(row: Selectable<SandboxTables['delivery_attempts']>): Attempt {
  const { at, milliseconds, status, error } = row
  const headers = JSON.parse(row.response_headers)
  return {
    at,
    milliseconds,
    request: { headers: JSON.parse(row.request_headers), body: row.request_body },
    response: status === null ? null : { status, headers, body: row.response_body },
    error,
  }
}

/** How many endpoints an event has not reached yet. */
export async function countWaiting(db: SandboxDb, eventId: string): Promise<number> {
  const row = await db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.count<number>('endpoint_id').distinct().as('count'))
    .where('event_id', '=', eventId)
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow()
  return row.count
}

/** When the next delivery is due. */
export async function findNextDelivery(db: SandboxDb): Promise<Date | undefined> {
  const row = await db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.min('next_attempt_at').as('at'))
    .where('state', '=', 'waiting')
    .executeTakeFirst()
  return row?.at ? new Date(row.at) : undefined
}
