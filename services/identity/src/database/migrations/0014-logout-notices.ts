import type { Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

/**
 * Clients that want to know when a session of theirs ends. Triggers write the notices, in the transaction of
 * whatever ends the session: there are many such statements, and none of them may be forgotten.
 */
export const logoutNotices: Migration = {
  name: 'identity-0014-logout-notices',
  async up(db, engine) {
    await db.schema
      .createTable('logout_notices')
      .addColumn('session_id', 'bigint', (column) => column.primaryKey())
      .addColumn('user_id', 'bigint', (column) => column.notNull())
      .addColumn('client_id', 'text', (column) => column.notNull())
      .addColumn('address', 'text', (column) => column.notNull())
      .addColumn('algorithm', 'text', (column) => column.notNull())
      .addColumn('attempts', 'integer', (column) => column.notNull())
      .addColumn('next_attempt_at', 'text', (column) => column.notNull())
      .execute()
    await sql`create index logout_notices_due on logout_notices (next_attempt_at)`.execute(db)
    await (engine === 'postgres' ? onPostgres(db) : onSqlite(db))
  },
}

/** The empty time is before every other: the first attempt is due at once. */
const noticeOf = (row: 'old' | 'new') =>
  sql.raw(`
  insert into logout_notices
    (session_id, user_id, client_id, address, algorithm, attempts, next_attempt_at)
  select ${row}.id, ${row}.user_id, client_id, backchannel_logout_uri, id_token_alg, 0, ''
  from clients where client_id = ${row}.client_id and backchannel_logout_uri is not null
  on conflict do nothing;`)

const ENDED = sql.raw(
  `old.client_id is not null and old.state = 'active' and new.state <> 'active'`,
)
const DELETED = sql.raw(`old.client_id is not null and old.state = 'active'`)

async function onSqlite(db: Schema): Promise<void> {
  await sql`create trigger sessions_ended_notice after update of state on sessions
    when ${ENDED} begin ${noticeOf('new')} end`.execute(db)
  await sql`create trigger sessions_deleted_notice after delete on sessions
    when ${DELETED} begin ${noticeOf('old')} end`.execute(db)
}

/** A restore that begins anew drops the tables, not the functions. */
async function onPostgres(db: Schema): Promise<void> {
  await sql`create or replace function notice_ended_session() returns trigger language plpgsql as $$
    begin ${noticeOf('new')} return null; end $$`.execute(db)
  await sql`create or replace function notice_deleted_session() returns trigger language plpgsql as $$
    begin ${noticeOf('old')} return null; end $$`.execute(db)
  await sql`create trigger sessions_ended_notice after update of state on sessions
    for each row when (${ENDED}) execute function notice_ended_session()`.execute(db)
  await sql`create trigger sessions_deleted_notice after delete on sessions
    for each row when (${DELETED}) execute function notice_deleted_session()`.execute(db)
}
