import type { Migration } from '@plinth/kit'
import { eventsMigration } from './0001-events.ts'
import { traceparentMigration } from './0002-traceparent.ts'

/** A host lists these after the kit's own. */
export const eventMigrations: Migration[] = [eventsMigration, traceparentMigration]
