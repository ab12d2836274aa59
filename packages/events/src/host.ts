import { type Db as Connection, type Job, startJob } from '@plinth/kit/database'
import { type Caller, exampleOf, type Guard, type Server, Type } from '@plinth/kit/http'
import {
  type AddressRules,
  type Clock,
  DAY_SECONDS,
  HOUR_SECONDS,
  networkList,
  type Settings,
  secondsAfter,
} from '@plinth/kit/runtime'
import type { KeyCaller, KeyGuard } from '@plinth/service-keys'
import { countPending, updatePlannedAhead } from './database/deliveries.repository.ts'
import { countEndpoints } from './database/endpoints.repository.ts'
import { deleteOldEvents } from './database/events.repository.ts'
import type { Db, EventTables } from './database/tables.ts'
import { type Dispatcher, startDispatcher } from './delivery/dispatcher.ts'
import { endpointRoutes } from './endpoints/endpoints.routes.ts'
import {
  type AuditEntry,
  COMMON_EVENTS,
  type EventCatalogue,
  type EventGuards,
  type Events,
  sampleOf,
} from './events.ts'
import { historyRoutes } from './history/history.routes.ts'
import { eventReply } from './history/schemas.ts'
import { openStreams } from './history/stream.ts'
import { TIMEOUT_MS } from './limits.ts'

export type EventSettings = AddressRules & {
  /** Whether this process delivers events. */
  delivers: boolean
  timeoutMs: number
}

/** `WEBHOOK_ALLOW_CIDRS` adds networks to those that endpoints may be in by default. */
export function eventSettings(settings: Settings): EventSettings {
  const allowCidrs = networkList(settings, 'WEBHOOK_ALLOW_CIDRS')
  return { production: settings.production, allowCidrs, delivers: true, timeoutMs: TIMEOUT_MS }
}

export const EVENT_SCOPES = ['events:read', 'webhooks:write'] as const

type EventScope = (typeof EVENT_SCOPES)[number]

const ADMIN_ROLE = 'ROLE_ADMIN'

/** Admits service keys and administrators; only keys in a service without administrators. */
export function eventGuards(
  keys: KeyGuard<EventScope>,
  admin?: Guard,
  ...recent: Guard[]
): EventGuards {
  const by = (scope: EventScope) => (admin ? keys.or(scope, admin) : keys.scope(scope))
  const mayWrite = (caller: Caller) =>
    (caller as Partial<KeyCaller>).scopes?.includes('webhooks:write') ?? false
  return {
    read: by('events:read'),
    write: by('webhooks:write'),
    admin: admin ?? by('webhooks:write'),
    recent,
    seesReplies: admin ? ({ roles }) => roles.includes(ADMIN_ROLE) : mayWrite,
  }
}

/** The webhooks of the API document: what is sent to endpoints. */
export function describeEvents(catalogue: EventCatalogue, source: string) {
  const { properties } = eventReply(source)
  const all = Object.entries({ ...catalogue, ...COMMON_EVENTS })
  return Object.fromEntries(
    all.map(([type, event]) => {
      const { description, data } = event
      const sample = sampleOf(event)
      const subject = Type.String({ examples: [subjectOf(sample)] })
      const body = Type.Object({ ...properties, type: Type.Literal(type), subject, data })
      const example = { ...(exampleOf(body) as object), data: sample }
      return [type, { summary: description, body, example }]
    }),
  )
}

/** The data of every event begins with the id of its subject. */
function subjectOf(sample: Record<string, unknown>): string {
  const [[name, id] = []] = Object.entries(sample)
  return typeof id === 'number' ? `${name?.replace(/Id$/, '')}:${id}` : String(id)
}

type Host<T> = {
  db: Connection<T>
  source: string
  settings: EventSettings
  masterKey: Buffer | undefined
  catalogue: EventCatalogue
  guards: EventGuards
  record(db: Connection<T>, entry: AuditEntry): Promise<void>
}

/**
 * Mounts events on a server whose database includes `eventMigrations`: routes, deliveries, metrics and
 * the pruning of old events.
 */
export function mountEvents<T extends EventTables>(server: Server, host: Host<T>): Dispatcher
/** Kysely compares tables only when they are known, so what is generic for the host is not for the rules. */
export function mountEvents(
  server: Server,
  { db, source, settings, masterKey, catalogue, guards, record }: Host<EventTables>,
): Dispatcher {
  const events: Events = {
    db,
    clock: server.clock,
    log: server.log,
    source,
    catalogue: { ...catalogue, ...COMMON_EVENTS },
    masterKey,
    addresses: settings,
    timeoutMs: settings.timeoutMs,
    record,
  }
  const streams = openStreams(events)
  server.addHook('preClose', async () => streams.close())
  const dispatcher = startDispatcher(events, {
    onPlaced: streams.notify,
    isRead: streams.isRead,
    metrics: server.metrics,
    tracer: server.tracer,
    delivers: settings.delivers,
  })
  server.onClose(dispatcher.stop)
  if (settings.delivers) wakeAfterRequests(server, dispatcher)
  server.onClose(startPruning(events, server).stop)
  measureEvents(server, events)
  endpointRoutes(server, events, guards)
  historyRoutes(server, events, { guards, streams })
  return dispatcher
}

/** Any successful request that may have changed something may have published an event. */
function wakeAfterRequests(server: Server, { wake }: Dispatcher): void {
  server.addHook('onResponse', (request, reply, done) => {
    if (request.method !== 'GET' && reply.statusCode < 400) wake()
    done()
  })
}

const RETENTION_DAYS = 30
const PRUNE_EVERY_SECONDS = HOUR_SECONDS

function startPruning(events: Events, { metrics }: Server): Job {
  return startJob({
    db: events.db,
    name: 'job:event-pruning',
    everySeconds: PRUNE_EVERY_SECONDS,
    log: events.log,
    metrics,
    run: async (signal) => {
      // A node whose clock was ahead may have planned deliveries, and not have come back since.
      await updatePlannedAhead(events.db, events.clock())
      await pruneEvents(events, signal)
    },
  })
}

export async function pruneEvents(
  { db, clock }: { db: Db; clock: Clock },
  signal: AbortSignal,
): Promise<void> {
  await deleteOldEvents(db, secondsAfter(clock(), -RETENTION_DAYS * DAY_SECONDS), signal)
}

const COUNT_EVERY_SECONDS = 15

function measureEvents({ metrics }: Server, { db }: Events): void {
  metrics.gauge(
    { name: 'plinth_event_backlog', help: 'Event deliveries that are still pending.' },
    () => countPending(db),
    COUNT_EVERY_SECONDS,
  )
  metrics.gauge(
    { name: 'plinth_event_endpoints', help: 'Webhook endpoints by state.' },
    async () =>
      Object.entries(await countEndpoints(db)).map(([state, value]) => ({
        labels: { state },
        value,
      })),
    COUNT_EVERY_SECONDS,
  )
}
