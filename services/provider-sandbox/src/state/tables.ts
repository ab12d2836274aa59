import type { Db } from '@plinth/kit/database'
import type { Generated } from 'kysely'

type Texts<Name extends string> = Record<Name, string>

type Numbers<Name extends string> = Record<Name, number>

type Numbered = { id: Generated<number> }

export type SandboxTables = {
  /**
   * Every object of the provider's API as JSON (`body`). `parent` is the object it belongs to: for
   * everything about a payment, its session. `hidden` is what the API never shows: an endpoint's
   * secrets, and what a session stores for its payment. `seq` is the order of creation.
   */
  objects: Texts<'id' | 'kind' | 'body' | 'hidden'> & {
    seq: Generated<number>
    created: number
    parent: string | null
  }
  counters: { name: string; value: number }
  values: { name: string; value: string }
  timers: Numbered & Texts<'due_at' | 'action' | 'object_id'>
  idempotency_keys: Texts<'key' | 'fingerprint' | 'expires_at' | 'request_id'> & {
    status: number | null
    body: string | null
  }
  deliveries: Numbered &
    Texts<'event_id' | 'endpoint_id' | 'state' | 'next_attempt_at'> & { attempts: number }
  delivery_attempts: Numbered &
    Texts<'at' | 'request_headers' | 'request_body' | 'response_headers' | 'response_body'> &
    Numbers<'delivery_id' | 'milliseconds'> & { status: number | null; error: string | null }
  /** `remaining` is null until the fault is removed. */
  faults: Numbered &
    Texts<'route' | 'kind' | 'detail'> & { remaining: number | null; probability: number }
  requests: Texts<'id' | 'at' | 'method' | 'path'> &
    Numbers<'status' | 'replayed'> & {
      seq: Generated<number>
      idempotency_key: string | null
      fault: string | null
    }
}

/** A connection or a transaction. */
export type SandboxDb = Db<SandboxTables>
