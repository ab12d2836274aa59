export { renameEndpointCreator } from './database/endpoints.repository.ts'
export { eventMigrations } from './database/migrations/index.ts'
export {
  FIRST_EVENT_COLUMNS,
  type FirstEvent,
  firstEvent,
  firstEventOf,
  firstEventsOf,
  insertEvent,
  insertFirstEvent,
} from './database/outbox.repository.ts'
export { type EventTables, SEALED_EVENT_COLUMNS } from './database/tables.ts'
export type { Dispatcher } from './delivery/dispatcher.ts'
export { createSender } from './delivery/send.ts'
export { newSecret, signedHeaders } from './endpoints/secrets.ts'
export {
  type AuditEntry,
  ENDPOINT_AUDIT_EVENTS,
  type EndpointAuditEvent,
  type EventCatalogue,
  type EventGuards,
  insertKeyEvent,
  insertSample,
  KEY_EVENTS,
} from './events.ts'
export {
  describeEvents,
  EVENT_SCOPES,
  type EventSettings,
  eventGuards,
  eventSettings,
  mountEvents,
} from './host.ts'
