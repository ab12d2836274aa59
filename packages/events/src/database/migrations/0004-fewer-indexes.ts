import type { Migration } from '@plinth/kit'

/**
 * The last sequence of a subject is the end of its part of an index. Ids begin with the time, so that
 * an index of the times is one too many.
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
