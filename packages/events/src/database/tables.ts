import type { Db as Connection, LeaseTables } from '@plinth/kit/database'
import type { Sealed, SealedColumns } from '@plinth/kit/tokens'
import type { Generated } from 'kysely'

/** The connection, or the caller's open transaction. */
export type Db = Connection<EventTables>

export type EventTables = LeaseTables & {
  event_outbox: OutboxRow
  events: EventRow
  /** The last sequence number of each subject whose events were deleted. */
  event_subjects: { subject: string; sequence: number }
  event_endpoints: EndpointRow
  event_deliveries: DeliveryRow
  event_attempts: AttemptRow
  event_forwards: ForwardRow
}

/** `old_secrets` holds sealed values inside its JSON: they are always of the same key as `secret`. */
export const SEALED_EVENT_COLUMNS: SealedColumns<EventTables> = {
  event_endpoints: { secret: true },
}

/** An event that has not been moved to the list yet. */
export type OutboxRow = {
  n: Generated<number>
  id: string
  type: string
  subject: string
  created_at: string
  endpoint_id: string | null
  traceparent: string | null
  /** JSON. */
  data: string
}

export type EventRow = {
  /** The event's place in the list, assigned after the commit so that no reader skips it. */
  serial: Generated<number>
  id: string
  type: string
  subject: string
  sequence: number
  /** The exact bytes that every attempt signs and sends. */
  body: string
  created_at: string
  /** The only endpoint to send it to; null for every endpoint that wants its type. */
  endpoint_id: string | null
  /** The trace of the change, if there is one. */
  traceparent: string | null
}

export type EndpointState = 'active' | 'paused' | 'disabled'

export type EndpointRow = {
  id: string
  url: string
  description: string
  /** JSON; an empty list means all types. */
  types: string
  secret: Sealed
  /** JSON: the replaced secrets, each with the time until which it still signs. */
  old_secrets: string
  state: EndpointState
  state_reason: string | null
  created_at: string
  created_by: string
  /** When the current series of failures began. */
  first_failure_at: string | null
  last_success_at: string | null
  warned: number
}

export type DeliveryState = 'pending' | 'done' | 'failed'

export type Trigger = 'event' | 'replay' | 'recover'

type DeliveryRow = {
  id: Generated<number>
  event_serial: number
  endpoint_id: string
  state: DeliveryState
  attempts: number
  /** How many attempts came before the schedule was restarted, for example by a replay. */
  attempts_before: number
  trigger: Trigger
  /** Null when no further attempt is due. */
  next_attempt_at: string | null
  lease_until: string | null
  lease_owner: string | null
}

export type AttemptRow = {
  delivery_id: number
  n: number
  at: string
  duration_ms: number
  status: number | null
  error: string | null
  reply: string | null
  trigger: Trigger
}

/** What a reader of the stream reports to have done with an event. */
export type ForwardRow = {
  event_serial: number
  n: number
  url: string
  at: string
  duration_ms: number
  status: number | null
  error: string | null
}
