import type { Migration } from '@plinth/kit'
import { eventsMigration } from './0001-events.ts'

/** A host lists these after the kit's own. */
export const eventMigrations: Migration[] = [eventsMigration]
