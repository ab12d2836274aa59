import type { Migration } from '@plinth/kit/database'
import { rsaSigningKeyMigrations } from '@plinth/kit/tokens'
import { type Kysely, sql } from 'kysely'

// biome-ignore lint/suspicious/noExplicitAny: a migration sees the schema of its own day
type Schema = Kysely<any>

/** Clients, what they ask for, and what users have allowed them. */
const openIdSchema: Migration = {
  name: 'identity-0011-openid',
  async up(db) {
    await createClients(db)
    await createRequests(db)
    await createGrants(db)
  },
}

export const openIdMigrations: Migration[] = [...rsaSigningKeyMigrations, openIdSchema]

async function createClients(db: Schema): Promise<void> {
  const table = db.schema
    .createTable('clients')
    .addColumn('client_id', 'text', (column) => column.primaryKey())
  const texts = [
    ...['name', 'redirect_uris', 'post_logout_redirect_uris', 'auth_method', 'grant_types'],
    ...['scopes', 'resources', 'id_token_alg', 'created_by', 'created_at', 'updated_at'],
  ]
  const flags = ['first_party', 'require_pkce', 'require_par', 'enabled']
  const optional = ['jwks', 'jwks_uri', 'backchannel_logout_uri', 'uri']
  const withTexts = texts.reduce(
    (sum, name) => sum.addColumn(name, 'text', (column) => column.notNull()),
    table,
  )
  const withFlags = flags.reduce(
    (sum, name) => sum.addColumn(name, 'integer', (column) => column.notNull()),
    withTexts,
  )
  await optional.reduce((sum, name) => sum.addColumn(name, 'text'), withFlags).execute()
  await sql`create index clients_created_at on clients (created_at, client_id)`.execute(db)
  await db.schema
    .createTable('client_secrets')
    .addColumn('secret_hash', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text')
    .execute()
  await sql`create index client_secrets_client on client_secrets (client_id)`.execute(db)
  await db.schema
    .createTable('client_assertions')
    .addColumn('assertion_hash', 'text', (column) => column.primaryKey())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index client_assertions_expires_at on client_assertions (expires_at)`.execute(db)
}

async function createRequests(db: Schema): Promise<void> {
  await db.schema
    .createTable('pushed_requests')
    .addColumn('request_hash', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('parameters', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index pushed_requests_expires_at on pushed_requests (expires_at)`.execute(db)
  await db.schema
    .createTable('authorizations')
    .addColumn('id', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('browser_hash', 'text', (column) => column.notNull())
    .addColumn('request', 'text', (column) => column.notNull())
    .addColumn('state', 'text', (column) => column.notNull())
    .addColumn('session_id', 'bigint')
    .addColumn('consented', 'integer', (column) => column.notNull())
    .addColumn('switching', 'integer', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .execute()
  await sql`create index authorizations_browser on authorizations (browser_hash)`.execute(db)
  await sql`create index authorizations_expires_at on authorizations (expires_at)`.execute(db)
  await db.schema
    .createTable('authorization_codes')
    .addColumn('code_hash', 'text', (column) => column.primaryKey())
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
    .addColumn('session_id', 'bigint', (column) => column.notNull())
    .addColumn('redirect_uri', 'text', (column) => column.notNull())
    .addColumn('code_challenge', 'text')
    .addColumn('nonce', 'text')
    .addColumn('scope', 'text', (column) => column.notNull())
    .addColumn('resources', 'text', (column) => column.notNull())
    .addColumn('expires_at', 'text', (column) => column.notNull())
    .addColumn('used_at', 'text')
    .addColumn('given_session_id', 'bigint')
    .execute()
  await sql`create index authorization_codes_user on authorization_codes (user_id)`.execute(db)
  await sql`create index authorization_codes_expires_at
    on authorization_codes (expires_at)`.execute(db)
}

async function createGrants(db: Schema): Promise<void> {
  await db.schema
    .createTable('grants')
    .addColumn('user_id', 'bigint', (column) => column.notNull().references('users.id'))
    .addColumn('client_id', 'text', (column) => column.notNull())
    .addColumn('scopes', 'text', (column) => column.notNull())
    .addColumn('resources', 'text', (column) => column.notNull())
    .addColumn('created_at', 'text', (column) => column.notNull())
    .addColumn('last_used_at', 'text')
    .addPrimaryKeyConstraint('grants_key', ['user_id', 'client_id'])
    .execute()
  await sql`create index grants_client on grants (client_id)`.execute(db)
}
