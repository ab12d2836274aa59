import type { Db as Connection, LeaseTables } from '@plinth/kit'
import type { Generated } from 'kysely'

/** The connection, or the transaction the caller has open. */
export type Db = Connection<EventTables>

export type EventTables = LeaseTables & {
  event_outbox: OutboxRow
  events: EventRow
  /** The last sequence of subjects whose events were deleted. */
  event_subjects: { subject: string; sequence: number }
  event_endpoints: EndpointRow
  event_deliveries: DeliveryRow
  event_attempts: AttemptRow
  event_forwards: ForwardRow
}

/** An event that has no place in the list yet. */
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
  /** Where it stands in the list of events. Given after the commit, so that no reader passes it by. */
  serial: Generated<number>
  id: string
  type: string
  subject: string
  sequence: number
  /** Exactly the bytes that are signed and sent, in every attempt. */
  body: string
  created_at: string
  /** The one endpoint it is for; null for all that want its type. */
  endpoint_id: string | null
  /** The trace of the change, where it has one. */
  traceparent: string | null
}

export type EndpointState = 'active' | 'paused' | 'disabled'

export type EndpointRow = {
  id: string
  url: string
  description: string
  /** JSON; an empty list is all types. */
  types: string
  secret: string
  /** JSON: secrets that were replaced, and until when they sign as well. */
  old_secrets: string
  state: EndpointState
  state_reason: string | null
  created_at: string
  created_by: string
  /** Since when every attempt has failed. */
  first_failure_at: string | null
  last_success_at: string | null
  warned: number
}

export type DeliveryState = 'pending' | 'done' | 'failed'

export type Trigger = 'event' | 'replay' | 'recover'

export type DeliveryRow = {
  id: Generated<number>
  event_serial: number
  endpoint_id: string
  state: DeliveryState
  attempts: number
  /** How many of the attempts were before the schedule began anew, as a replay makes it. */
  attempts_before: number
  trigger: Trigger
  /** Null once there is nothing left to attempt. */
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

/** What a reader of the stream did with an event, as it says itself. */
export type ForwardRow = {
  event_serial: number
  n: number
  url: string
  at: string
  duration_ms: number
  status: number | null
  error: string | null
}
