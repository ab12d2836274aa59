import { randomBytes } from 'node:crypto'
import { inTransaction } from '@plinth/kit/database'
import { validationFailed } from '@plinth/kit/problems'
import { faultOfUrl, secondsAfter } from '@plinth/kit/runtime'
import {
  deleteEndpoint,
  type Endpoint,
  type EndpointState,
  findEndpoint,
  findEndpointForUpdate,
  insertEndpoint,
  listEndpoints,
  updateEndpoint,
} from '../database/endpoints.repository.ts'
import { insertEvent } from '../database/outbox.repository.ts'
import type { Db } from '../database/tables.ts'
import type { AuditEntry, EventActor, Events } from '../events.ts'
import { MAX_ENDPOINTS, MAX_OLD_SECRETS, OVERLAP_SECONDS } from '../limits.ts'
import {
  endpointMissing,
  endpointNotActive,
  secretsNotConfigured,
  tooManyEndpoints,
  urlNotAllowed,
} from '../problems.ts'
import { placeEvents } from './fan-out.ts'
import { newSecret, openSecret, sealSecret } from './secrets.ts'

export type NewEndpoint = { url: string; description?: string; types?: string[] }

type EndpointChange = Partial<NewEndpoint> & { state?: 'active' | 'paused' }

/** Creates an endpoint and sends it a `ping`. Returns its secret, which later only administrators can read. */
export async function createEndpoint(
  events: Events,
  { url, description = '', types = [] }: NewEndpoint,
  by: EventActor,
): Promise<{ endpoint: Endpoint; secret: string }> {
  const key = requireKey(events)
  requireKnownTypes(events, types)
  await requireAllowed(events, url)
  // Earlier events must not reach the new endpoint.
  await placeEvents(events)
  const id = `ep_${randomBytes(12).toString('hex')}`
  const secret = newSecret()
  const now = events.clock()
  const endpoint: Endpoint = {
    id,
    url,
    description,
    types: [...new Set(types)],
    secret: sealSecret(key, id, secret),
    oldSecrets: [],
    state: 'active',
    stateReason: null,
    createdAt: now.toISOString(),
    createdBy: by.actor,
    firstFailureAt: null,
    lastSuccessAt: null,
    warned: false,
  }
  await inTransaction(events.db, async (db) => {
    if (!(await insertEndpoint(db, endpoint, MAX_ENDPOINTS))) throw tooManyEndpoints()
    await publishPing(events, db, id)
    await audit(events, db, endpoint, { ...by, event: 'WEBHOOK_ENDPOINT_CREATED' })
  })
  return { endpoint, secret }
}

export function allEndpoints({ db }: Events): Promise<Endpoint[]> {
  return listEndpoints(db)
}

export async function requireEndpoint({ db }: Events, id: string): Promise<Endpoint> {
  const endpoint = await findEndpoint(db, id)
  if (!endpoint) throw endpointMissing()
  return endpoint
}

/** An endpoint that is made active again receives its pending deliveries. */
export async function changeEndpoint(
  events: Events,
  id: string,
  { url, description, types, state }: EndpointChange,
  by: EventActor,
): Promise<Endpoint> {
  requireKnownTypes(events, types ?? [])
  if (url !== undefined) await requireAllowed(events, url)
  return updated(events, id, { ...by, event: 'WEBHOOK_ENDPOINT_CHANGED' }, (before) => {
    // Member by member: a caller may send others, such as the `id` and `secret` it was answered.
    const after: Endpoint = {
      ...before,
      url: url ?? before.url,
      description: description ?? before.description,
      types: types ? [...new Set(types)] : before.types,
      state: state ?? before.state,
    }
    if (after.state !== before.state) after.stateReason = null
    if (after.state === before.state && after.url === before.url) return after
    return { ...after, firstFailureAt: null, warned: false }
  })
}

export async function removeEndpoint(events: Events, id: string, by: EventActor): Promise<void> {
  await inTransaction(events.db, async (db) => {
    const endpoint = await findEndpointForUpdate(db, id)
    if (!endpoint || !(await deleteEndpoint(db, id))) throw endpointMissing()
    await audit(events, db, endpoint, { ...by, event: 'WEBHOOK_ENDPOINT_DELETED' })
  })
}

export async function revealSecret(events: Events, id: string, by: EventActor): Promise<string> {
  const key = requireKey(events)
  const endpoint = await requireEndpoint(events, id)
  await audit(events, events.db, endpoint, { ...by, event: 'WEBHOOK_SECRET_SHOWN' })
  return openSecret(key, id, endpoint.secret)
}

/** For a day, the replaced secret signs as well as the new one. */
export async function rotateSecret(events: Events, id: string, by: EventActor): Promise<string> {
  const key = requireKey(events)
  const secret = newSecret()
  const now = events.clock()
  const until = secondsAfter(now, OVERLAP_SECONDS).toISOString()
  await updated(events, id, { ...by, event: 'WEBHOOK_SECRET_ROTATED' }, (before) => {
    const inForce = before.oldSecrets.filter((old) => old.until > now.toISOString())
    const oldSecrets = [{ secret: before.secret, until }, ...inForce].slice(0, MAX_OLD_SECRETS)
    return { ...before, secret: sealSecret(key, id, secret), oldSecrets }
  })
  return secret
}

/** Sends a `ping` to this endpoint only; returns the id of the event. */
export async function testEndpoint(events: Events, id: string, by: EventActor): Promise<string> {
  return inTransaction(events.db, async (db) => {
    const endpoint = await findEndpointForUpdate(db, id)
    if (!endpoint) throw endpointMissing()
    if (endpoint.state === 'disabled') throw endpointNotActive()
    await audit(events, db, endpoint, { ...by, event: 'WEBHOOK_ENDPOINT_TESTED' })
    return publishPing(events, db, id)
  })
}

const DELIVERY_ACTOR: EventActor = { actor: 'delivery', origin: { address: '', requestId: null } }

type Closed = { state: Exclude<EndpointState, 'active'>; reason: string }

/**
 * Stops all attempts until someone makes the endpoint active again, and notifies the other endpoints.
 * `isDue` is evaluated on the endpoint while its row is locked.
 */
export async function closeEndpoint(
  events: Events,
  id: string,
  { state, reason }: Closed,
  isDue: (endpoint: Endpoint) => boolean,
): Promise<void> {
  const isClosed = await inTransaction(events.db, async (db) => {
    const endpoint = await findEndpointForUpdate(db, id)
    if (endpoint?.state !== 'active' || !isDue(endpoint)) return false
    await updateEndpoint(db, { ...endpoint, state, stateReason: reason })
    const data = { endpointId: id, state, reason }
    await publish(events, db, { type: 'endpoint.disabled', subject: id, data })
    await audit(events, db, endpoint, { ...DELIVERY_ACTOR, event: 'WEBHOOK_ENDPOINT_DISABLED' })
    return true
  })
  if (!isClosed) return
  events.log.warn(
    { endpointId: id, state, reason },
    'a webhook endpoint was closed and gets no more events',
  )
}

/** Warns once per series of failures, while there is still time to fix the endpoint. */
export async function warnOfEndpoint(events: Events, id: string): Promise<void> {
  const failing = await inTransaction(events.db, async (db) => {
    const endpoint = await findEndpointForUpdate(db, id)
    if (!endpoint?.firstFailureAt || endpoint.warned) return undefined
    await updateEndpoint(db, { ...endpoint, warned: true })
    await audit(events, db, endpoint, { ...DELIVERY_ACTOR, event: 'WEBHOOK_ENDPOINT_FAILING' })
    return endpoint
  })
  if (!failing) return
  const about = { endpointId: id, since: failing.firstFailureAt }
  events.log.warn(about, 'every delivery to a webhook endpoint fails')
}

async function updated(
  events: Events,
  id: string,
  entry: Omit<AuditEntry, 'subject'>,
  change: (before: Endpoint) => Endpoint,
): Promise<Endpoint> {
  return inTransaction(events.db, async (db) => {
    const before = await findEndpointForUpdate(db, id)
    if (!before) throw endpointMissing()
    const after = change(before)
    await updateEndpoint(db, after)
    await audit(events, db, after, entry)
    return after
  })
}

function publishPing(events: Events, db: Db, id: string): Promise<string> {
  const data = { endpointId: id }
  return publish(events, db, { type: 'ping', subject: id, data, endpointId: id })
}

type OwnEvent = { type: string; subject: string; data: object; endpointId?: string }

function publish({ clock }: Events, db: Db, event: OwnEvent): Promise<string> {
  return insertEvent(db, { ...event, data: { ...event.data }, at: clock() })
}

function audit(
  { record }: Events,
  db: Db,
  { id, url }: Endpoint,
  entry: Omit<AuditEntry, 'subject'>,
): Promise<void> {
  // The path and the query of an address may contain a secret of the receiver.
  return record(db, { ...entry, subject: `endpoint ${id} (${new URL(url).origin})` })
}

function requireKey({ masterKey }: Events): Buffer {
  if (!masterKey) throw secretsNotConfigured()
  return masterKey
}

function requireKnownTypes({ catalogue }: Events, types: string[]): void {
  const unknown = types.filter((type) => !Object.hasOwn(catalogue, type))
  const known = Object.keys(catalogue).join(', ')
  if (unknown.length > 0)
    throw validationFailed(unknown.map((type) => `types: ${type}: this service has ${known}`))
}

/** A name that later resolves to an internal address is refused when the connection is made. */
async function requireAllowed({ addresses }: Events, url: string): Promise<void> {
  const fault = await faultOfUrl(url, addresses)
  if (fault) throw urlNotAllowed({ detail: `url: ${fault}` })
}
