import type { Generated } from 'kysely'

/** Every object of the provider's API, as its JSON is; `seq` is the order of creation. */
type ObjectRow = {
  seq: number
  id: string
  kind: string
  created: number
  /** The object this one belongs to: a line item's session, an event's subject. */
  parent: string | null
  body: string
  /** What the API never shows: an endpoint's secrets, what a session keeps for its payment. */
  hidden: string
}

export type TimerRow = { id: number; due_at: string; action: string; object_id: string }

export type IdempotencyRow = {
  key: string
  fingerprint: string
  expires_at: string
  /** Null while the first call is under way. */
  status: number | null
  body: string | null
  request_id: string
}

export type DeliveryRow = {
  id: number
  event_id: string
  endpoint_id: string
  state: string
  attempts: number
  next_attempt_at: string
}

export type AttemptRow = {
  id: number
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

export type FaultRow = {
  id: number
  route: string
  kind: string
  /** Null: until it is removed. */
  remaining: number | null
  probability: number
  detail: string
}

export type RequestRow = {
  id: string
  at: string
  method: string
  path: string
  idempotency_key: string | null
  status: number
  replayed: number
  fault: string | null
}

/** A column the database fills in. */
type Filled<T, K extends keyof T> = Omit<T, K> & { [P in K]: Generated<T[P]> }

export type SandboxTables = {
  objects: Filled<ObjectRow, 'seq'>
  counters: { name: string; value: number }
  values: { name: string; value: string }
  timers: Filled<TimerRow, 'id'>
  idempotency_keys: IdempotencyRow
  deliveries: Filled<DeliveryRow, 'id'>
  delivery_attempts: Filled<AttemptRow, 'id'>
  faults: Filled<FaultRow, 'id'>
  requests: Filled<RequestRow & { seq: number }, 'seq'>
}
