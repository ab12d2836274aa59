import { idColumn, type Migration } from '@plinth/kit/database'
import { sql } from 'kysely'

/** Mailed codes that sign a user in, and sign-ins with accounts at providers. */
export const federationSchema: Migration = {
  name: 'identity-0012-federation',
  async up(db, engine) {
    await createCodes(db)
    await createIdentities(db, engine)
    await createRequests(db)
    await createUnlinked(db)
  },
}

type Up = Parameters<Migration['up']>

async function createCodes(db: Up[0]) {
  await db.schema
    .createTable('mailed_codes')
    .addColumn('request_hash', 'text', (column) => column.primaryKey())
    .addColumn('kind', 'text', (column) => column.notNull())
    .addColumn('address', 'text', (column) => column.notNull())
    .addColumn('mail_id', 'text', (column) => column.notNull())
    .addColumn('code_hash', 'text')
    .addColumn('failures', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('used_at', 'text')
    .execute()
  await sql`create index mailed_codes_address on mailed_codes (address, kind)`.execute(db)
  await sql`create index mailed_codes_mail on mailed_codes (mail_id)`.execute(db)
  await sql`create index mailed_codes_expires_at on mailed_codes (expires_at)`.execute(db)
}

async function createIdentities(...[db, engine]: Up) {
  await db.schema
    .createTable('identities')
    .addColumn('id', ...idColumn(engine))
    .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text', (column) => column.notNull())
    .addUniqueConstraint('identities_issuer_subject', ['issuer', 'subject'])
    .execute()
  await sql`create index identities_user on identities (user_id)`.execute(db)
}

async function createRequests(db: Up[0]) {
  await db.schema
    .createTable('federation_requests')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('opening_hash', 'text', (column) => column.notNull().unique())
    .addColumn('return_to', 'text', (column) => column.notNull())
    .addColumn('challenge', 'text', (column) => column.notNull())
    .addColumn('user_id', 'bigint')
    .addColumn('session_id', 'bigint')
    .addColumn('state_hash', 'text', (column) => column.unique())
    .addColumn('browser_hash', 'text')
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('answered_at', 'text')
    .addColumn('ticket_hash', 'text', (column) => column.unique())
    .addColumn('ticket_expires_at', 'text')
    .addColumn('issuer', 'text')
    .addColumn('subject', 'text')
    .addColumn('email', 'text')
    .addColumn('email_verified', 'integer', (column) => column.notNull())
    .addColumn('spent_at', 'text')
    .execute()
  await sql`create index federation_requests_user on federation_requests (user_id)`.execute(db)
  await sql`create index federation_requests_expires_at on federation_requests (expires_at)`.execute(
    db,
  )
}

async function createUnlinked(db: Up[0]) {
  await db.schema
    .createTable('unlinked_identities')
    .addColumn('token_hash', 'text', (column) => column.primaryKey())
    .addColumn('purpose', 'text', (column) => column.notNull())
    .addColumn('provider', 'text', (column) => column.notNull())
    .addColumn('issuer', 'text', (column) => column.notNull())
    .addColumn('subject', 'text', (column) => column.notNull())
    .addColumn('email', 'text')
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('used_at', 'text')
    .execute()
  await sql`create index unlinked_identities_email on unlinked_identities (email)`.execute(db)
  await sql`create index unlinked_identities_expires_at on unlinked_identities (expires_at)`.execute(
    db,
  )
}
