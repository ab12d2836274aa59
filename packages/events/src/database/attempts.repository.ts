import { engineOf, prepared } from '@plinth/kit/database'
import { sql } from 'kysely'
import type { ClaimedDelivery } from './deliveries.repository.ts'
import { text } from './outbox.repository.ts'
import type { AttemptRow, Db, DeliveryState } from './tables.ts'

/** Inserts nothing if the endpoint was deleted meanwhile: pruning would never find the orphaned row. */
const insertAttempt = prepared((db: Db, row: AttemptRow) =>
  db
    .insertInto('event_attempts')
    .columns(['delivery_id', 'n', 'at', 'duration_ms', 'status', 'error', 'reply', 'trigger'])
    .expression((from) => {
      const delivery = from
        .selectFrom('event_deliveries')
        .select('id')
        .select([
          sql<number>`cast(${row.n} as integer)`.as('n'),
          text(row.at).as('at'),
          sql<number>`cast(${row.duration_ms} as integer)`.as('duration_ms'),
          sql<number | null>`cast(${row.status} as integer)`.as('status'),
          text(row.error).as('error'),
          text(row.reply).as('reply'),
          text(row.trigger).as('attempt_trigger'),
        ])
        .where('id', '=', row.delivery_id)
      return engineOf(db) === 'postgres' ? delivery.forKeyShare() : delivery
    }),
)

type Settled = { id: number; n: number; owner: string; state: DeliveryState; next: string | null }

/** A delivery replayed during the attempt stays due: the attempt then only releases its lease. */
function settled(db: Db, { n, state, next }: Settled) {
  const counts = sql`attempts_before < ${n}`
  return db.updateTable('event_deliveries').set({
    state: sql<DeliveryState>`case when ${counts} then ${text(state)} else state end`,
    next_attempt_at: sql<string>`case when ${counts} then ${text(next)} else next_attempt_at end`,
    lease_until: null,
    lease_owner: null,
  })
}

/** A success counts even if another node holds the lease by now. */
const succeed = prepared((db: Db, attempt: Settled) =>
  settled(db, attempt).where(
    sql<boolean>`id = ${attempt.id} and (attempts_before < ${attempt.n}
      or (lease_owner = ${attempt.owner} and attempts = ${attempt.n}))`,
  ),
)

const fail = prepared((db: Db, attempt: Settled) =>
  settled(db, attempt)
    .where('id', '=', attempt.id)
    .where('lease_owner', '=', attempt.owner)
    .where('attempts', '=', attempt.n),
)

export type Attempt = {
  at: Date
  durationMs: number
  status: number | null
  error: string | null
  reply: string | null
}

/** The outcome of an attempt: done, failed for good, or the time of the next attempt. */
export type Verdict = 'done' | 'failed' | Date

/**
 * Records an attempt. A success counts however late it is. A failure must not overwrite the result of a
 * later attempt by another node that took over the lease.
 */
export async function insertAttemptOf(
  db: Db,
  { id, attempts, trigger, leaseOwner }: ClaimedDelivery,
  { at, durationMs, ...outcome }: Attempt,
  verdict: Verdict,
): Promise<void> {
  const row = { delivery_id: id, n: attempts, at: at.toISOString(), duration_ms: durationMs }
  await insertAttempt(db, { ...row, ...outcome, trigger })
  const settle = verdict === 'done' ? succeed : fail
  const [state, next] =
    verdict instanceof Date ? (['pending', verdict.toISOString()] as const) : [verdict, null]
  await settle(db, { id, n: attempts, owner: leaseOwner, state, next })
}
