import { randomBytes } from 'node:crypto'
import { inTransaction, kitMigrations, openDatabase } from '@plinth/kit/database'
import { anyone, createServer, openApiRoutes, Type } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import {
  bothEngines as eitherEngine,
  enginesWith,
  listenForTest,
  type TestClock,
  testClock,
} from '@plinth/kit/testing'
import type { EventTables } from '../src/database/tables.ts'
import type { AuditEntry, EventGuards } from '../src/events.ts'
import { type EventSettings, eventMigrations, insertEvent, mountEvents } from '../src/index.ts'

type TestScope = { after(work: () => Promise<void> | void): void }

type Options = {
  url?: string
  clock?: TestClock
  masterKey?: Buffer
  settings?: Partial<EventSettings>
  guards?: Partial<EventGuards>
}

export type StartedEvents = Awaited<ReturnType<typeof startEvents>>

const migrations = [...kitMigrations, ...eventMigrations]

export const engines = enginesWith(migrations)
export const bothEngines = enginesWith(migrations, eitherEngine)

const CATALOGUE = {
  'thing.made': { description: 'A thing.', data: Type.Object({ number: Type.Integer() }) },
  'thing.gone': { description: 'None.', data: Type.Object({ number: Type.Integer() }) },
}

/** A service that only publishes events; the test decides when they are delivered. */
export async function startEvents(t: TestScope, options: Options = {}) {
  const { url = 'sqlite::memory:', clock = testClock() } = options
  const masterKey = options.masterKey ?? randomBytes(32)
  const log = createLogger('things', 'silent')
  const { db, close } = await openDatabase<EventTables>(url, migrations)
  const server = createServer({ log, clock })
  server.onClose(close)
  const audit: AuditEntry[] = []
  const dispatcher = mountEvents(server, {
    db,
    source: 'things',
    masterKey,
    catalogue: CATALOGUE,
    settings: {
      production: false,
      allowCidrs: [],
      delivers: false,
      timeoutMs: 5_000,
      ...options.settings,
    },
    guards: {
      read: anyone,
      write: anyone,
      admin: anyone,
      seesReplies: () => true,
      ...options.guards,
    },
    record: async (_db, entry) => void audit.push(entry),
  })
  const tags = { Events: 'All.', Operations: 'Rest.' }
  openApiRoutes(server, { title: 'Things', version: '1', description: 'For tests.', tags })
  const { api, baseUrl } = await listenForTest(t, server)

  /** Publishes in a transaction, which events published at the same time may share. */
  const publish = (number: number, { type = 'thing.made', subject = `thing-${number}` } = {}) => {
    const event = { source: 'things', type, subject, data: { number }, at: clock() }
    return inTransaction(db, (open) => insertEvent(open, event), { groupKey: subject })
  }
  const endpoint = async (receiver: { url: string }, body: object = {}) => {
    const reply = await api.post('/api/webhooks/endpoints', { url: receiver.url, ...body })
    if (reply.status !== 201) throw new Error(JSON.stringify(reply.body))
    return reply.body as { id: string; secret: string; state: string }
  }
  const detail = async (id: string) => (await api.get(`/api/events/${id}`)).body
  return {
    api,
    baseUrl,
    clock,
    db,
    url,
    masterKey,
    audit,
    server,
    deliver: dispatcher.idle,
    dispatcher,
    publish,
    endpoint,
    detail,
  }
}
