import { renameEndpointCreator } from '@plinth/events'
import {
  type FromRow,
  fromRow,
  type PageRequest,
  prepared,
  selectPage,
  sortRows,
  toRow,
} from '@plinth/kit/database'
import { endKeysMadeBy, isReservedName } from '@plinth/service-keys'
import type { AuditEventRow, Db, ObservationRow } from './tables.ts'

type NewRow = Omit<ObservationRow, 'id'>

export type Observation = FromRow<NewRow>

/** Where an observation came from, for the timeline. */
export type ObservationSource = Pick<ObservationRow, 'source' | 'kind'> & {
  at: Date
  subject?: string | null
  eventId?: string
  note?: string
}

type Facts = Partial<
  Pick<Observation, 'paymentId' | 'note' | 'anomaly' | 'statusBefore' | 'statusAfter'>
>

const insert = prepared((db: Db, observation: Observation) =>
  db.insertInto('observations').values(toRow<NewRow>(observation)),
)

/** Append-only: there is no update and no delete. */
export async function insertObservation(
  db: Db,
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

export async function listObservations(db: Db, paymentId: string): Promise<Observation[]> {
  const rows = await db
    .selectFrom('observations')
    .selectAll()
    .where('payment_id', '=', paymentId)
    .orderBy('id')
    .execute()
  return rows.map(({ id, ...row }) => fromRow(row))
}

type NewAuditRow = Omit<AuditEventRow, 'id'>

export const AUDIT_SORTS = ['id', 'at']

/** Who did what; append-only like the observations, except that `renameActor` replaces a name. */
export async function insertAuditEvent(db: Db, event: FromRow<NewAuditRow>): Promise<void> {
  await db.insertInto('audit_events').values(toRow<NewAuditRow>(event)).execute()
}

/** Keeps an erased user's audit events under another name, and ends the service keys the user created. */
export async function renameActor(
  db: Db,
  username: string,
  { to, now }: { to: string; now: Date },
): Promise<void> {
  if (isReservedName(username)) return
  await db.updateTable('audit_events').set({ actor: to }).where('actor', '=', username).execute()
  await endKeysMadeBy(db, username, { to, now })
  await renameEndpointCreator(db, username, to)
}

/** Newest first by default. */
export async function listAuditEvents(db: Db, page: PageRequest) {
  const { rows, total } = await selectPage(db.selectFrom('audit_events'), page, (all) =>
    sortRows(all, page.sort).orderBy('id', page.sort.at(-1)?.direction ?? 'desc'),
  )
  return { events: rows.map((row) => fromRow(row)), total }
}
