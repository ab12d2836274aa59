import type { Migration } from '@plinth/kit/database'

/** A small index: ended sessions are counted without reading the table, and rotation does not update it. */
export const endedSessions: Migration = {
  name: 'accounts-0009-ended-sessions',
  async up() {},
  indexes: () => ({ sessions_ended: "sessions (expires_at, state) where state <> 'active'" }),
}
