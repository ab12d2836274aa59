import { type Caller, exampleOf, type Guard, Type } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { validationFailed } from '@plinth/kit/problems'
import type { AddressRules, Clock } from '@plinth/kit/runtime'
import type { KeyAuditEvent, KeyEvent } from '@plinth/service-keys'
import type { TSchema } from 'typebox'
import { insertEvent } from './database/outbox.repository.ts'
import type { Db } from './database/tables.ts'

/** The dependencies that the rules about events share. */
export type Events = {
  db: Db
  clock: Clock
  log: Logger
  /** The service that publishes the events. */
  source: string
  catalogue: EventCatalogue
  /** Seals the secrets of endpoints. */
  masterKey: Buffer | undefined
  addresses: AddressRules
  /** How long an endpoint may take to answer. */
  timeoutMs: number
  /** Writes an audit entry in the transaction of the change. */
  record(db: Db, entry: AuditEntry): Promise<void>
}

/** For each type, when it is published and the schema of its `data`. */
export type EventCatalogue = Record<string, CatalogueEntry>

type CatalogueEntry = {
  description: string
  data: TSchema
  /** What a sample of this type has instead of the examples of a schema that several types share. */
  sample?: Record<string, unknown>
}

export type EventActor = { actor: string; origin: { address: string; requestId: string | null } }

/** What the audit of a service records about its endpoints. */
export const ENDPOINT_AUDIT_EVENTS = [
  'WEBHOOK_ENDPOINT_CREATED',
  'WEBHOOK_ENDPOINT_CHANGED',
  'WEBHOOK_ENDPOINT_DELETED',
  'WEBHOOK_ENDPOINT_TESTED',
  'WEBHOOK_ENDPOINT_FAILING',
  'WEBHOOK_ENDPOINT_DISABLED',
  'WEBHOOK_SECRET_SHOWN',
  'WEBHOOK_SECRET_ROTATED',
] as const

export type EndpointAuditEvent = (typeof ENDPOINT_AUDIT_EVENTS)[number]

export type AuditEntry = EventActor & { event: EndpointAuditEvent; subject: string }

/** The guard for each kind of request. */
export type EventGuards = {
  read: Guard
  write: Guard
  /** For secrets and test events. */
  admin: Guard
  /** Further guards for requests that change where events go, or return a secret. */
  recent?: Guard[]
  /** Replies of endpoints may reveal details of the systems behind them. */
  seesReplies(caller: Caller): boolean
}

const id = Type.String({ examples: ['ep_2f1c7a9b8e6d5f4c3a2b1908'] })

/** The events that every service publishes. */
export const COMMON_EVENTS: EventCatalogue = {
  ping: {
    description: 'Sent to an endpoint when it is created, and as a test.',
    data: Type.Object({ endpointId: id }),
  },
  'endpoint.disabled': {
    description: 'An endpoint gets no more events until it is made active again.',
    data: Type.Object({
      endpointId: id,
      state: Type.String({ examples: ['paused'] }),
      reason: Type.String({ examples: ['Every attempt of the last 5 days failed.'] }),
    }),
  },
}

const keyData = Type.Object({ keyId: Type.Integer() }, { title: 'ServiceKeyEventData' })

/** The events that services with service keys publish. */
export const KEY_EVENTS = {
  'service_key.created': { description: 'A service key was created.', data: keyData },
  'service_key.rotated': { description: 'A service key has a successor.', data: keyData },
  'service_key.revoked': { description: 'A service key was revoked.', data: keyData },
  'service_key.expiring': {
    description: 'A service key ends in 30 days, and again in 7, and has no successor.',
    data: keyData,
  },
} satisfies EventCatalogue

const KEY_TYPES: Record<KeyAuditEvent, keyof typeof KEY_EVENTS | null> = {
  SERVICE_KEY_CREATED: 'service_key.created',
  SERVICE_KEY_ROTATED: 'service_key.rotated',
  SERVICE_KEY_REVOKED: 'service_key.revoked',
  SERVICE_KEY_EXPIRING: 'service_key.expiring',
  SERVICE_KEY_REFUSED: null,
}

/** Publishes a change to a service key, in the transaction of the change. */
export async function insertKeyEvent(db: Db, { event, keyId }: KeyEvent, at: Date): Promise<void> {
  const type = KEY_TYPES[event]
  if (type) await insertEvent(db, { type, subject: `key:${keyId}`, data: { keyId }, at })
}

/** Publishes a sample event, for testing receivers. */
export function insertSample(
  db: Db,
  catalogue: EventCatalogue,
  { source, type, at }: { source: string; type: string; at: Date },
): Promise<string> {
  const known = Object.hasOwn(catalogue, type) ? catalogue[type] : undefined
  if (!known)
    throw validationFailed([`${type}: ${source} has ${Object.keys(catalogue).join(', ')}`])
  return insertEvent(db, { type, subject: 'sample', data: sampleOf(known), at })
}

export function sampleOf({ data, sample }: CatalogueEntry): Record<string, unknown> {
  return { ...(exampleOf(data) as Record<string, unknown>), ...sample }
}
