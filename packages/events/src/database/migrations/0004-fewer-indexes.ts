import type { Migration } from '@plinth/kit/database'

/**
 * An index on subject and sequence finds the last sequence of a subject in one lookup. Ids begin with
 * the time, so a separate index on the time is redundant.
 */
export const fewerIndexesMigration: Migration = {
  name: 'events-0004-fewer-indexes',
  up: async (db) => {
    for (const name of ['events_subject', 'events_created_at'])
      await db.schema.dropIndex(name).execute()
    await db.schema
      .createIndex('events_subject_sequence')
      .on('events')
      .columns(['subject', 'sequence'])
      .execute()
  },
}
