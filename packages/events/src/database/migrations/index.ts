import type { Migration } from '@plinth/kit/database'
import { eventsMigration } from './0001-events.ts'
import { traceparentMigration } from './0002-traceparent.ts'
import { forwardsMigration } from './0003-forwards.ts'
import { fewerIndexesMigration } from './0004-fewer-indexes.ts'
import { outboxMigration } from './0005-outbox.ts'
import { placesMigration } from './0006-places.ts'

/** A host lists these after `kitMigrations`. */
export const eventMigrations: Migration[] = [
  eventsMigration,
  traceparentMigration,
  forwardsMigration,
  fewerIndexesMigration,
  outboxMigration,
  placesMigration,
]
