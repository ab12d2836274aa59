import { idColumn, type Migration } from '@plinth/kit/database'
import { type Kysely, sql } from 'kysely'

export const accountsSchema: Migration = {
  name: 'accounts-0001-users-sessions-audit',
  async up(db, engine) {
    await createUsers(db, idColumn(engine))
    await createSessions(db, idColumn(engine))
    await createFailedAttempts(db)
    await createAuditEvents(db, idColumn(engine))
  },
}

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

type IdColumn = ReturnType<typeof idColumn>

async function createUsers(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('users')
    .addColumn('id', ...id)
    .addColumn('username', 'text', (column) => column.notNull())
    .addColumn('email', 'text', (column) => column.notNull())
    .addColumn('password_hash', 'text', (column) => column.notNull())
    .addColumn('roles', 'text', (column) => column.notNull())
    .addColumn('admin', 'integer', (column) => column.notNull())
    .addColumn('enabled', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create unique index users_username on users (username)`.execute(db)
  await sql`create unique index users_email on users (email)`.execute(db)
  await sql`create index users_created_at on users (created_at, id)`.execute(db)
  await sql`create index users_enabled on users (enabled, id)`.execute(db)
  await sql`create index users_admins on users (id) where admin = 1`.execute(db)
  await db.schema
    .createTable('user_total')
    .addColumn('id', 'integer', (column) => column.primaryKey())
    .addColumn('total', 'bigint', (column) => column.notNull())
    .execute()
  await sql`insert into user_total (id, total) values (1, 0)`.execute(db)
}

async function createSessions(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('sessions')
    .addColumn('id', ...id)
    .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
    .addColumn('token_family', 'text', (column) => column.notNull().unique())
    .addColumn('token_hash', 'text', (column) => column.notNull().unique())
    .addColumn('generation', 'integer', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('user_agent', 'text')
    .execute()
  await sql`create index sessions_user on sessions (user_id)`.execute(db)
  await sql`create index sessions_expires_at on sessions (expires_at)`.execute(db)
}

async function createFailedAttempts(db: Schema): Promise<void> {
  await db.schema
    .createTable('failed_attempts')
    .addColumn('attempt', 'text', (column) => column.primaryKey())
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('ends_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index failed_attempts_ends_at on failed_attempts (ends_at)`.execute(db)
}

async function createAuditEvents(db: Schema, id: IdColumn): Promise<void> {
  await db.schema
    .createTable('audit_events')
    .addColumn('id', ...id)
    .addColumn('at', 'text', (column) => column.notNull())
    .addColumn('event', 'text', (column) => column.notNull())
    .addColumn('actor', 'text')
    .addColumn('subject', 'text')
    .addColumn('address', 'text')
    .addColumn('result', 'text', (column) => column.notNull())
    .addColumn('request_id', 'text')
    .execute()
  await sql`create index audit_events_at on audit_events (at)`.execute(db)
}
