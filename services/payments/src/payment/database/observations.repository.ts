import { type Db, prepared } from '@plinth/kit'
import type { ObservationRow, PaymentTables } from './tables.ts'

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
export type ObservationSource = {
  source: Source
  kind: string
  at: Date
  subject?: string | null
  eventId?: string
  note?: string
}

const insert = prepared((db: Db<PaymentTables>, observation: Observation) =>
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

type Facts = Partial<
  Pick<Observation, 'paymentId' | 'note' | 'anomaly' | 'statusBefore' | 'statusAfter'>
>

/** Append-only: there is no update and no delete. */
export async function insertObservation(
  db: Db<PaymentTables>,
  { at, source, kind, subject, eventId, note }: ObservationSource,
  facts: Facts,
): Promise<void> {
  await insert(db, {
    paymentId: facts.paymentId ?? null,
    at: at.toISOString(),
    source,
    kind,
    subject: subject ?? null,
    eventId: eventId ?? null,
    note: facts.note ?? note ?? null,
    anomaly: facts.anomaly ?? null,
    statusBefore: facts.statusBefore ?? null,
    statusAfter: facts.statusAfter ?? null,
  })
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
