import { jsonOf, nothingOf, type Send, segmentOf } from './http/request.ts'
import type { WebhookEvent } from './webhooks.ts'

/** A service that is DEGRADED takes requests, and refuses those that would store something. */
export type Health = { status: 'UP' | 'DEGRADED' | 'DOWN'; reason?: string }

export type ServiceIndex = {
  name: string
  version: string
  links: { console?: string; health?: string; openapi?: string; reference?: string }
}

/**
 * The calls that every service answers; the key edition of storage answers those of the actuator, except
 * `health`, with `STORAGE_KEY_ACTUATOR=full`.
 */
export type OperationsCalls = {
  index(): Promise<ServiceIndex>
  /** UP, DEGRADED or DOWN; it throws only if there is no answer. */
  health(): Promise<Health>
  openApi(): Promise<Record<string, unknown>>
  actuator(): Promise<{ _links: Record<string, { href: string; templated: boolean }> }>
  serviceInfo(): Promise<{ app: { name: string; version: string } }>
  liveness(): Promise<Health>
  readiness(): Promise<Health>
}

export type ResourceMetadata = {
  resource: string
  authorization_servers: string[]
  bearer_methods_supported: string[]
}

export type ProtectedResourceCalls = OperationsCalls & {
  /** RFC 9728; for a service that accepts the tokens of an issuer. */
  protectedResourceMetadata(): Promise<ResourceMetadata>
}

export function operationsCalls(send: Send): OperationsCalls {
  return {
    index: () => jsonOf(send('GET', '/')),
    health: () => healthAt(send, '/actuator/health'),
    openApi: () => jsonOf(send('GET', '/openapi.json')),
    actuator: () => jsonOf(send('GET', '/actuator')),
    serviceInfo: () => jsonOf(send('GET', '/actuator/info')),
    liveness: () => healthAt(send, '/actuator/health/liveness'),
    readiness: () => healthAt(send, '/actuator/health/readiness'),
  }
}

export function protectedResourceCalls(send: Send): ProtectedResourceCalls {
  return {
    ...operationsCalls(send),
    protectedResourceMetadata: () => jsonOf(send('GET', '/.well-known/oauth-protected-resource')),
  }
}

export function healthAt(send: Send, path: string): Promise<Health> {
  return jsonOf(send('GET', path, { accept: [503] }))
}

export type ServiceKey = {
  id: number
  name: string
  /** The first characters, to tell keys apart. */
  start: string
  scopes: string[]
  allowedCidrs: string[]
  createdBy: string
  createdAt: string
  expiresAt: string
  lastUsedAt: string | null
  lastUsedAddress: string | null
  revokedAt: string | null
  replacesId: number | null
}

/** The secret is shown only once. */
export type IssuedServiceKey = ServiceKey & { secret: string }

export type ServiceKeyRequest = {
  name: string
  scopes: string[]
  allowedCidrs?: string[] | undefined
  lifetimeDays?: number | undefined
}

/** For administrators. */
export type ServiceKeyCalls = {
  createServiceKey(request: ServiceKeyRequest): Promise<IssuedServiceKey>
  serviceKeys(): Promise<ServiceKey[]>
  /** The old key stays valid for the overlap, by default a day. */
  rotateServiceKey(id: number, overlapSeconds?: number): Promise<IssuedServiceKey>
  revokeServiceKey(id: number): Promise<void>
}

export function serviceKeyCalls(send: Send): ServiceKeyCalls {
  return {
    createServiceKey: (json) => jsonOf(send('POST', '/api/service-keys', { json })),
    serviceKeys: () => jsonOf(send('GET', '/api/service-keys')),
    rotateServiceKey: (id, overlapSeconds) =>
      jsonOf(send('POST', `/api/service-keys/${id}/rotate`, { json: { overlapSeconds } })),
    revokeServiceKey: (id) => nothingOf(send('DELETE', `/api/service-keys/${id}`)),
  }
}

/** Where a service sends its events. */
export type WebhookEndpoint = {
  id: string
  url: string
  description: string
  /** All types when empty. */
  types: string[]
  state: 'active' | 'paused' | 'disabled'
  stateReason: string | null
  createdAt: string
  createdBy: string
  firstFailureAt: string | null
  lastSuccessAt: string | null
}

export type WebhookEndpointRequest = {
  url: string
  description?: string | undefined
  types?: string[] | undefined
}

export type Delivery = {
  endpointId: string
  url: string
  state: 'pending' | 'done' | 'failed' | 'paused'
  nextAttemptAt: string | null
  attempts: {
    n: number
    at: string
    durationMs: number
    status: number | null
    error: string | null
    reply: string | null
    trigger: 'event' | 'replay' | 'recover'
  }[]
}

/** How `plinth listen`, or another reader of the stream, forwarded an event. */
export type EventForward = {
  n: number
  url: string
  at: string
  durationMs: number
  status: number | null
  error: string | null
}

export type EventQuery = {
  /** The id of the event that was read last. */
  after?: string | undefined
  /** Separated by commas. */
  types?: string | undefined
  subject?: string | undefined
  since?: string | undefined
}

export type EventListQuery = EventQuery & {
  state?: 'pending' | 'done' | 'failed' | undefined
  order?: 'asc' | 'desc' | undefined
  limit?: number | undefined
}

export type EventCalls = {
  /** The secret is for `verifyWebhook`. */
  createWebhookEndpoint(
    request: WebhookEndpointRequest,
  ): Promise<WebhookEndpoint & { secret: string }>
  webhookEndpoints(): Promise<WebhookEndpoint[]>
  webhookEndpoint(id: string): Promise<WebhookEndpoint>
  changeWebhookEndpoint(
    id: string,
    change: Partial<WebhookEndpointRequest> & { state?: 'active' | 'paused' | undefined },
  ): Promise<WebhookEndpoint>
  deleteWebhookEndpoint(id: string): Promise<void>
  webhookSecret(id: string): Promise<{ secret: string }>
  /** The old secret also keeps signing for a day. */
  rotateWebhookSecret(id: string): Promise<{ secret: string }>
  testWebhookEndpoint(id: string): Promise<{ eventId: string }>
  recoverWebhookEndpoint(
    id: string,
    span: { since: string; until?: string | undefined; failedOnly?: boolean | undefined },
  ): Promise<{ count: number }>
  /** `after: next` gets the next page. */
  events(query?: EventListQuery): Promise<{ items: WebhookEvent[]; next: string | null }>
  event(
    id: string,
  ): Promise<{ event: WebhookEvent; deliveries: Delivery[]; forwards: EventForward[] }>
  replayEvent(id: string, endpointId?: string): Promise<{ count: number }>
  /** For a reader of the stream that forwards events: records what the receiver answered. */
  recordEventForward(id: string, forward: Omit<EventForward, 'n' | 'at'>): Promise<void>
  /** Server-sent events, in the body, until `signal` aborts. */
  eventStream(query?: EventQuery, signal?: AbortSignal): Promise<Response>
}

export function eventCalls(send: Send): EventCalls {
  const endpoints = '/api/webhooks/endpoints'
  const at = (id: string, rest = '') => `${endpoints}/${segmentOf(id)}${rest}`
  const eventAt = (id: string, rest = '') => `/api/events/${segmentOf(id)}${rest}`
  return {
    createWebhookEndpoint: (json) => jsonOf(send('POST', endpoints, { json })),
    webhookEndpoints: () => jsonOf(send('GET', endpoints)),
    webhookEndpoint: (id) => jsonOf(send('GET', at(id))),
    changeWebhookEndpoint: (id, json) => jsonOf(send('PATCH', at(id), { json })),
    deleteWebhookEndpoint: (id) => nothingOf(send('DELETE', at(id))),
    webhookSecret: (id) => jsonOf(send('GET', at(id, '/secret'))),
    rotateWebhookSecret: (id) => jsonOf(send('POST', at(id, '/rotate-secret'))),
    testWebhookEndpoint: (id) => jsonOf(send('POST', at(id, '/test'))),
    recoverWebhookEndpoint: (id, json) => jsonOf(send('POST', at(id, '/recover'), { json })),
    events: (query) => jsonOf(send('GET', '/api/events', { query })),
    event: (id) => jsonOf(send('GET', eventAt(id))),
    replayEvent: (id, endpointId) =>
      jsonOf(send('POST', eventAt(id, '/replay'), { json: { endpointId } })),
    recordEventForward: (id, json) => nothingOf(send('POST', eventAt(id, '/forwards'), { json })),
    eventStream: (query, signal) =>
      send('GET', '/api/events/stream', { query, signal, stream: true }),
  }
}
