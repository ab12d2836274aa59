import { jsonOf, nothingOf, type Send } from './http/request.ts'

export type Health = { status: 'UP' } | { status: 'DOWN'; reason?: string }

export type ServiceIndex = {
  name: string
  version: string
  links: { console?: string; health?: string; openapi?: string; reference?: string }
}

/** What every service answers. */
export type OperationsCalls = {
  index(): Promise<ServiceIndex>
  /** UP or DOWN; it throws only if there is no answer. */
  health(): Promise<Health>
  openApi(): Promise<Record<string, unknown>>
}

export type ResourceMetadata = {
  resource: string
  authorization_servers: string[]
  bearer_methods_supported: string[]
}

export type ActuatorCalls = OperationsCalls & {
  actuator(): Promise<{ _links: Record<string, { href: string; templated: boolean }> }>
  info(): Promise<{ app: { name: string; version: string } }>
  liveness(): Promise<Health>
  readiness(): Promise<Health>
  /** RFC 9728; of a service that accepts the tokens of an issuer. */
  protectedResourceMetadata(): Promise<ResourceMetadata>
}

export function operationsCalls(send: Send): OperationsCalls {
  return {
    index: () => jsonOf(send('GET', '/')),
    health: () => healthAt(send, '/actuator/health'),
    openApi: () => jsonOf(send('GET', '/openapi.json')),
  }
}

export function actuatorCalls(send: Send): ActuatorCalls {
  return {
    ...operationsCalls(send),
    actuator: () => jsonOf(send('GET', '/actuator')),
    info: () => jsonOf(send('GET', '/actuator/info')),
    liveness: () => healthAt(send, '/actuator/health/liveness'),
    readiness: () => healthAt(send, '/actuator/health/readiness'),
    protectedResourceMetadata: () => jsonOf(send('GET', '/.well-known/oauth-protected-resource')),
  }
}

function healthAt(send: Send, path: string): Promise<Health> {
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

/** The secret is shown this once. */
export type IssuedServiceKey = ServiceKey & { secret: string }

export type ServiceKeyRequest = {
  name: string
  scopes: string[]
  allowedCidrs?: string[]
  lifetimeDays?: number
}

/** For administrators. */
export type ServiceKeyCalls = {
  createServiceKey(request: ServiceKeyRequest): Promise<IssuedServiceKey>
  serviceKeys(): Promise<ServiceKey[]>
  /** The old key stays good for the overlap; a day unless you say otherwise. */
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
