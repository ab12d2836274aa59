import type { IssuerTables } from '@plinth/erased-users'
import { type EndpointAuditEvent, type EventTables, SEALED_EVENT_COLUMNS } from '@plinth/events'
import type { Db as Connection } from '@plinth/kit/database'
import type { SealedColumns } from '@plinth/kit/tokens'
import type { KeyAuditEvent, ServiceKeyTables } from '@plinth/service-keys'
import type { Generated } from 'kysely'
import type { RefundStatus } from '../../provider/provider.ts'
import type { AttemptState, CheckoutStatus, PaymentStatus } from '../state.ts'

/** The connection, or the transaction the caller has open. */
export type Db = Connection<PaymentTables>

export type PaymentTables = IssuerTables &
  ServiceKeyTables &
  EventTables & {
    payments: PaymentRow
    attempts: AttemptRow
    checkout_generations: GenerationRow
    refund_intents: RefundAttemptRow
    refunds: RefundRow
    webhook_events: WebhookEventRow
    observations: ObservationRow
    event_polls: EventPollRow
    restores: RestoreRow
    clearings: ClearingRow
    audit_events: AuditEventRow
  }

export const SEALED_COLUMNS: SealedColumns<PaymentTables> = SEALED_EVENT_COLUMNS

/** `window_after` is the last event read of a window that ends at `window_to`. */
type EventPollRow = {
  name: string
  polled_until: string
  window_to: string | null
  window_after: string | null
}

/** A row means that the database was restored, and that the provider has to be asked first. */
type RestoreRow = { at: string }

/** How far the old rows of a table have been cleared: the time and the key of the last one looked at. */
type ClearingRow = { name: string; at: string; key: string }

/** The exposed columns cache what `derivePayment` computes from the attempts and refunds. */
export type PaymentRow = {
  id: string
  business_reference: string
  amount: number
  currency: string
  provider_customer_id: string | null
  status: PaymentStatus
  checkout_status: CheckoutStatus | null
  refunded_amount: number
  session_id: string | null
  payment_intent_id: string | null
  attempt_reference: string | null
  /** Comma-separated names; empty when there are none. */
  anomalies: string
  created_at: string
  updated_at: string
  /** When to ask the provider again; null while there is nothing to wait for. */
  next_check_at: string | null
  checks: number
}

export type AttemptRow = {
  payment_id: string
  sequence: number
  reference: string
  state: AttemptState
  session_id: string | null
  payment_intent_id: string | null
  url: string | null
  expires_at: string | null
  /** The whole request as JSON: an unknown outcome is resolved by sending exactly this again. */
  request: string
  idempotency_key: string
  first_sent_at: string
}

/** Counts the keys that were spent without creating a session or refund; the next key has to differ. */
type GenerationRow = { payment_id: string; generation: number }

export type RefundAttemptRow = {
  payment_id: string
  reference: string
  content_hash: string
  payment_intent_id: string
  amount: number
  reason: string | null
  metadata: string
  state: 'reserved' | 'linked' | 'refused'
  /** The generation of its idempotency key. */
  generation: number
  idempotency_key: string
  first_sent_at: string
  refund_id: string | null
}

export type RefundRow = {
  id: string
  payment_intent_id: string | null
  amount: number
  currency: string
  status: RefundStatus
  reason: string | null
  metadata: string
  created_at: string
  updated_at: string
}

export type WebhookEventStatus = 'PROCESSED' | 'IGNORED' | 'FAILED' | 'DEAD'

export type WebhookEventRow = {
  id: string
  type: string
  status: WebhookEventStatus
  source: 'webhook' | 'poll'
  body: string
  payment_id: string | null
  /** The business reference of a payment that does not exist here yet. */
  parked_for: string | null
  tries: number
  next_try_at: string | null
  error: string | null
  received_at: string
  processed_at: string | null
}

export type ObservationRow = {
  id: Generated<number>
  payment_id: string | null
  at: string
  source: 'webhook' | 'poll' | 'reply' | 'look-up' | 'request'
  /** The provider's own word for an event, otherwise ours. */
  kind: string
  subject: string | null
  event_id: string | null
  note: string | null
  anomaly: string | null
  status_before: string | null
  status_after: string | null
}

/** What the audit records: the events of payments, of service keys and of webhook endpoints. */
type AuditEvent = 'REFUND_REQUESTED' | 'ACCESS_DENIED' | KeyAuditEvent | EndpointAuditEvent

export type AuditEventRow = {
  id: Generated<number>
  at: string
  event: AuditEvent
  actor: string | null
  subject: string | null
  address: string
  request_id: string | null
}
