import type { Db } from '@plinth/kit'
import type { AttemptRow, DeliveryRow, SandboxTables } from '../../state/tables.ts'

type SandboxDb = Db<SandboxTables>

export async function insertDelivery(
  db: SandboxDb,
  delivery: Omit<DeliveryRow, 'id'>,
): Promise<number> {
  const { id } = await db
    .insertInto('deliveries')
    .values(delivery)
    .returning('id')
    .executeTakeFirstOrThrow()
  return id
}

export async function updateDelivery(
  db: SandboxDb,
  id: number,
  changed: Partial<Omit<DeliveryRow, 'id'>>,
): Promise<void> {
  await db.updateTable('deliveries').set(changed).where('id', '=', id).execute()
}

/** What has to be sent by `now`, in the order in which it came up. */
export async function listDueDeliveries(db: SandboxDb, now: Date): Promise<DeliveryRow[]> {
  return db
    .selectFrom('deliveries')
    .selectAll()
    .where('state', '=', 'waiting')
    .where('next_attempt_at', '<=', now.toISOString())
    .orderBy('next_attempt_at')
    .orderBy('id')
    .execute()
}

export async function insertAttempt(db: SandboxDb, attempt: Omit<AttemptRow, 'id'>): Promise<void> {
  await db.insertInto('delivery_attempts').values(attempt).execute()
}

export async function listDeliveries(
  db: SandboxDb,
  filter: { eventId?: string; limit?: number } = {},
): Promise<DeliveryRow[]> {
  let query = db.selectFrom('deliveries').selectAll()
  if (filter.eventId !== undefined) query = query.where('event_id', '=', filter.eventId)
  return query
    .orderBy('id', 'desc')
    .limit(filter.limit ?? 100)
    .execute()
}

export async function listAttempts(db: SandboxDb, deliveryIds: number[]): Promise<AttemptRow[]> {
  if (deliveryIds.length === 0) return []
  return db
    .selectFrom('delivery_attempts')
    .selectAll()
    .where('delivery_id', 'in', deliveryIds)
    .orderBy('id')
    .execute()
}

/** When the next thing is due, up to `until`: a timer, or a delivery when they are counted. */
export async function findNextDue(
  db: SandboxDb,
  until: Date,
  countDeliveries: boolean,
): Promise<Date | undefined> {
  const timer = await db
    .selectFrom('timers')
    .select((eb) => eb.fn.min('due_at').as('at'))
    .executeTakeFirst()
  const delivery = countDeliveries
    ? await db
        .selectFrom('deliveries')
        .select((eb) => eb.fn.min('next_attempt_at').as('at'))
        .where('state', '=', 'waiting')
        .executeTakeFirst()
    : undefined
  const moments = [timer?.at, delivery?.at].filter((at) => at && at <= until.toISOString()).sort()
  return moments[0] ? new Date(moments[0]) : undefined
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
