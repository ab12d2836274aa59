import { engineOf, inTransaction, prepared } from '@plinth/kit/database'
import { secondsAfter } from '@plinth/kit/runtime'
import { sql } from 'kysely'
import { LEASE_SECONDS } from '../limits.ts'
import { type Endpoint, endpointOf } from './endpoints.repository.ts'
import type { Db, Trigger } from './tables.ts'

export type { Trigger } from './tables.ts'

/** A delivery that this node may attempt until its lease expires. */
export type ClaimedDelivery = {
  id: number
  endpointId: string
  eventId: string
  body: string
  /** The number of this attempt. */
  attempts: number
  /** How many attempts came before the schedule was restarted. */
  attemptsBefore: number
  trigger: Trigger
  leaseOwner: string
  /** The trace of the change that the event describes. */
  traceparent: string | null
}

const ROWS_AT_ONCE = 500

type NewDelivery = { serial: number; endpointId: string; trigger: Trigger }

/** Leaves existing deliveries unchanged. */
export async function insertDeliveries(db: Db, wanted: NewDelivery[], now: Date): Promise<void> {
  const rows = wanted.map(({ serial, endpointId, trigger }) => ({
    event_serial: serial,
    endpoint_id: endpointId,
    state: 'pending' as const,
    attempts: 0,
    attempts_before: 0,
    trigger,
    next_attempt_at: now.toISOString(),
    lease_until: null,
    lease_owner: null,
  }))
  for (let start = 0; start < rows.length; start += ROWS_AT_ONCE)
    await db
      .insertInto('event_deliveries')
      .values(rows.slice(start, start + ROWS_AT_ONCE))
      .onConflict((conflict) => conflict.columns(['event_serial', 'endpoint_id']).doNothing())
      .execute()
}

const endpointsDue = prepared((db: Db, { at, impossible }: Moment) =>
  db
    .selectFrom('event_endpoints')
    .select('id')
    .where('state', '=', 'active')
    .where(({ exists, selectFrom }) =>
      exists(
        selectFrom('event_deliveries')
          .select('event_deliveries.id')
          .whereRef('endpoint_id', '=', 'event_endpoints.id')
          .where('next_attempt_at', '<=', at)
          .where(isFree({ at, impossible })),
      ),
    ),
)

/** The endpoints with a due delivery that no node has leased. */
export async function listEndpointsDue(db: Db, now: Date): Promise<string[]> {
  return (await endpointsDue(db, momentOf(now))).map(({ id }) => id)
}

type Moment = { at: string; impossible: string }

/**
 * A lease that ends later than any lease granted now was granted before the clock was set back, and
 * counts as expired.
 */
function isFree({ at, impossible }: Moment) {
  return sql<boolean>`(lease_until is null or lease_until <= ${at} or lease_until > ${impossible})`
}

function momentOf(now: Date): Moment {
  return { at: now.toISOString(), impossible: secondsAfter(now, 2 * LEASE_SECONDS).toISOString() }
}

export type Claimed = { endpoint: Endpoint; delivery: ClaimedDelivery }

type Claim = { endpointId: string; owner: string; now: Date; most: number }

/**
 * Leases the due deliveries of an endpoint. At most `most` are in flight, counting those leased by other
 * nodes. The row lock on the endpoint serialises the nodes; SQLite has a single writer.
 */
export async function claimDeliveries(
  connection: Db,
  { endpointId, owner, now, most }: Claim,
): Promise<{ endpoint: Endpoint; deliveries: ClaimedDelivery[] } | undefined> {
  return inTransaction(connection, async (db) => {
    const [locked] = most > 0 ? await lockActiveEndpoint(db, { id: endpointId }) : []
    if (!locked) return undefined
    const until = secondsAfter(now, LEASE_SECONDS).toISOString()
    const claim = { endpointId, owner, until, ...momentOf(now) }
    const [counted] = await countBusy(db, claim)
    const free = most - (counted?.busy ?? 0)
    if (free <= 0) return undefined
    const claimed = await claimDue(db, { ...claim, free })
    if (claimed.length === 0) return undefined
    const deliveries = await Promise.all(
      claimed.map(async ({ event_serial, attempts_before, ...delivery }) => {
        const [event] = await eventOf(db, { serial: event_serial })
        const { id: eventId = '', body = '', traceparent = null } = event ?? {}
        return {
          ...delivery,
          traceparent,
          endpointId,
          eventId,
          body,
          attemptsBefore: attempts_before,
          leaseOwner: owner,
        }
      }),
    )
    return { endpoint: endpointOf(locked), deliveries }
  })
}

const lockActiveEndpoint = prepared((db: Db, { id }: { id: string }) => {
  const query = db
    .selectFrom('event_endpoints')
    .selectAll()
    .where('id', '=', id)
    .where('state', '=', 'active')
  return engineOf(db) === 'postgres' ? query.forUpdate().skipLocked() : query
})

type ClaimMoment = Moment & { endpointId: string; owner: string; until: string }

const countBusy = prepared((db: Db, { endpointId, at, impossible }: ClaimMoment) =>
  db
    .selectFrom('event_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('busy'))
    .where('endpoint_id', '=', endpointId)
    .where('lease_until', '>', at)
    .where('lease_until', '<=', impossible),
)

const claimDue = prepared((db: Db, claim: ClaimMoment & { free: number }) =>
  db
    .updateTable('event_deliveries')
    .set(({ eb }) => ({
      lease_until: claim.until,
      lease_owner: claim.owner,
      attempts: eb('attempts', '+', 1),
    }))
    .where('id', 'in', (due) =>
      due
        .selectFrom('event_deliveries')
        .select('id')
        .where('endpoint_id', '=', claim.endpointId)
        .where('next_attempt_at', '<=', claim.at)
        .where(isFree(claim))
        .orderBy('next_attempt_at')
        .orderBy('id')
        .limit(sql<number>`${claim.free}`),
    )
    .returning(['id', 'event_serial', 'attempts', 'attempts_before', 'trigger']),
)

const eventOf = prepared((db: Db, { serial }: { serial: number }) =>
  db.selectFrom('events').select(['id', 'body', 'traceparent']).where('serial', '=', serial),
)

/**
 * Makes due whatever was planned by a clock that was ahead: deliveries without an attempt, which are due as soon as they
 * exist, and those whose last attempt is later than now. Nodes' clocks may differ by as much as a lease allows for.
 */
export async function updatePlannedAhead(db: Db, now: Date): Promise<void> {
  const at = now.toISOString()
  await db
    .updateTable('event_deliveries')
    .set({ next_attempt_at: at })
    .where('next_attempt_at', '>', at)
    .where(({ or, eb, exists, selectFrom }) =>
      or([
        eb('attempts', '=', eb.ref('attempts_before')),
        exists(
          selectFrom('event_attempts')
            .select('n')
            .whereRef('delivery_id', '=', 'event_deliveries.id')
            .where('at', '>', secondsAfter(now, LEASE_SECONDS).toISOString()),
        ),
      ]),
    )
    .execute()
}

/** Deliveries that are waiting or in flight. */
export async function countPending(db: Db): Promise<number> {
  const { total } = await db
    .selectFrom('event_deliveries')
    .select(({ fn }) => fn.countAll<number>().as('total'))
    .where('next_attempt_at', 'is not', null)
    .executeTakeFirstOrThrow()
  return total
}
