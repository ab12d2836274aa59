import { type Db, preparedWrite } from '@plinth/kit'
import type { ObservationRow, PaymentTables } from './tables.ts'

/** Where an observation came from. */
type Source = 'webhook' | 'poll' | 'reply' | 'look-up' | 'request'

export type Observation = {
  paymentId: string | null
  at: string
  source: Source
  kind: string
  subject: string | null
  eventId: string | null
  note: string | null
  anomaly: string | null
  statusBefore: string | null
  statusAfter: string | null
}

/** How something became known, for the timeline. */
export type About = {
  source: Source
  kind: string
  at: Date
  subject?: string | null
  eventId?: string
  note?: string
}

/** An observation that, as such, says nothing about the payment's status. */
export function remark(about: About): Observation {
  return {
    paymentId: null,
    at: about.at.toISOString(),
    source: about.source,
    kind: about.kind,
    subject: about.subject ?? null,
    eventId: about.eventId ?? null,
    note: about.note ?? null,
    anomaly: null,
    statusBefore: null,
    statusAfter: null,
  }
}

const insert = preparedWrite((db: Db<PaymentTables>, observation: Observation) =>
  db.insertInto('observations').values({
    payment_id: observation.paymentId,
    at: observation.at,
    source: observation.source,
    kind: observation.kind,
    subject: observation.subject,
    event_id: observation.eventId,
    note: observation.note,
    anomaly: observation.anomaly,
    status_before: observation.statusBefore,
    status_after: observation.statusAfter,
  }),
)

/** Append-only: there is no update and no delete. */
export async function insertObservation(
  db: Db<PaymentTables>,
  observation: Observation,
): Promise<void> {
  await insert(db, observation)
}

export async function listObservations(
  db: Db<PaymentTables>,
  paymentId: string,
): Promise<Observation[]> {
  const rows = await db
    .selectFrom('observations')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .orderBy('id')
    .execute()
  return rows.map(toObservation)
}

function toObservation(row: Omit<ObservationRow, 'id'>): Observation {
  return {
    paymentId: row.payment_id,
    at: row.at,
    source: row.source as Source,
    kind: row.kind,
    subject: row.subject,
    eventId: row.event_id,
    note: row.note,
    anomaly: row.anomaly,
    statusBefore: row.status_before,
    statusAfter: row.status_after,
  }
}
