import type { Generated } from 'kysely'

export type SandboxTables = {
  /** Every object of the provider's API, as its JSON is; `seq` is the order of creation. */
  objects: {
    seq: Generated<number>
    id: string
    kind: string
    created: number
    /** The object this one belongs to: a line item's session, an event's subject. */
    parent: string | null
    body: string
    /** What the API never shows: an endpoint's secrets, what a session keeps for its payment. */
    hidden: string
  }
  counters: { name: string; value: number }
  values: { name: string; value: string }
  timers: { id: Generated<number>; due_at: string; action: string; object_id: string }
  idempotency_keys: {
    key: string
    fingerprint: string
    expires_at: string
    status: number | null
    body: string | null
    request_id: string
  }
  deliveries: {
    id: Generated<number>
    event_id: string
    endpoint_id: string
    state: string
    attempts: number
    next_attempt_at: string
  }
  delivery_attempts: {
    id: Generated<number>
    delivery_id: number
    at: string
    request_headers: string
    request_body: string
    status: number | null
    response_headers: string
    response_body: string
    error: string | null
    milliseconds: number
  }
  faults: {
    id: Generated<number>
    route: string
    kind: string
    /** Null: until it is removed. */
    remaining: number | null
    probability: number
    detail: string
  }
  requests: {
    seq: Generated<number>
    id: string
    at: string
    method: string
    path: string
    idempotency_key: string | null
    status: number
    replayed: number
    fault: string | null
  }
}
