import {
  type Db,
  engineOf,
  type PageRequest,
  prepared,
  selectPage,
  sortRows,
} from '@plinth/kit/database'
import type { Selectable } from 'kysely'
import type { IdentityTables } from './tables.ts'

export const AUTH_METHODS = ['client_secret', 'private_key_jwt', 'none'] as const
export const ID_TOKEN_ALGORITHMS = ['RS256', 'ES256'] as const

type ClientKeys = { keys: Record<string, unknown>[] }

/** An application that users sign in to. */
export type Client = {
  clientId: string
  name: string
  redirectUris: string[]
  postLogoutRedirectUris: string[]
  authMethod: (typeof AUTH_METHODS)[number]
  grantTypes: string[]
  scopes: string[]
  resources: string[]
  jwks: ClientKeys | null
  jwksUri: string | null
  firstParty: boolean
  requirePkce: boolean
  requirePar: boolean
  idTokenAlg: (typeof ID_TOKEN_ALGORITHMS)[number]
  backchannelLogoutUri: string | null
  uri: string | null
  /** Whether no administrator has registered it: it did so itself, or a document describes it. */
  selfRegistered: boolean
  enabled: boolean
  createdBy: string
  createdAt: string
  updatedAt: string
}

const clientById = prepared((db: Db<IdentityTables>, { clientId }: { clientId: string }) =>
  db.selectFrom('clients').selectAll().where('client_id', '=', clientId),
)

export async function findClient(
  db: Db<IdentityTables>,
  clientId: string,
): Promise<Client | undefined> {
  const [row] = await clientById(db, { clientId })
  return row && clientOf(row)
}

/** Until the transaction ends, no other request changes the client. */
export async function lockClient(
  db: Db<IdentityTables>,
  clientId: string,
): Promise<Client | undefined> {
  const query = db.selectFrom('clients').selectAll().where('client_id', '=', clientId)
  const row = await (engineOf(db) === 'postgres' ? query.forUpdate() : query).executeTakeFirst()
  return row && clientOf(row)
}

const hold = prepared((db: Db<IdentityTables>, { clientId }: { clientId: string }) => {
  const query = db
    .selectFrom('clients')
    .select('enabled')
    .where('client_id', '=', clientId)
    .where('enabled', '=', 1)
  // SQLite has a single writer.
  return engineOf(db) === 'postgres' ? query.forShare() : query
})

/** Until the transaction ends, the client can be neither disabled nor deleted. */
export async function holdClient(db: Db<IdentityTables>, clientId: string): Promise<boolean> {
  return (await hold(db, { clientId })).length > 0
}

export async function listClientNames(
  db: Db<IdentityTables>,
  clientIds: string[],
): Promise<Map<string, string>> {
  if (clientIds.length === 0) return new Map()
  const rows = await db
    .selectFrom('clients')
    .select(['client_id', 'name'])
    .where('client_id', 'in', clientIds)
    .execute()
  return new Map(rows.map(({ client_id, name }) => [client_id, name]))
}

const MAX_LISTED = 1000

/** Oldest first. */
export async function listAllClients(db: Db<IdentityTables>): Promise<Client[]> {
  const rows = await db
    .selectFrom('clients')
    .selectAll()
    .orderBy('created_at')
    .orderBy('client_id')
    .limit(MAX_LISTED)
    .execute()
  return rows.map(clientOf)
}

export const CLIENT_SORTS = ['createdAt', 'name'] as const

export async function listClients(db: Db<IdentityTables>, page: PageRequest) {
  const { rows, total } = await selectPage(db.selectFrom('clients'), page, (all) =>
    sortRows(all, page.sort).orderBy('created_at', 'desc').orderBy('client_id'),
  )
  return { clients: rows.map(clientOf), total }
}

export async function insertClient(db: Db<IdentityTables>, client: Client): Promise<void> {
  await db
    .insertInto('clients')
    .values({ client_id: client.clientId, created_by: client.createdBy, ...columnsOf(client) })
    .execute()
}

export async function updateClient(db: Db<IdentityTables>, client: Client): Promise<boolean> {
  const { numUpdatedRows } = await db
    .updateTable('clients')
    .set(columnsOf(client))
    .where('client_id', '=', client.clientId)
    .executeTakeFirstOrThrow()
  return numUpdatedRows > 0n
}

/** With its secrets, what users allowed it, and its requests. Its sessions are ended apart. */
export async function deleteClient(db: Db<IdentityTables>, clientId: string): Promise<boolean> {
  const { numDeletedRows } = await db
    .deleteFrom('clients')
    .where('client_id', '=', clientId)
    .executeTakeFirstOrThrow()
  await db.deleteFrom('client_secrets').where('client_id', '=', clientId).execute()
  await db.deleteFrom('grants').where('client_id', '=', clientId).execute()
  await deleteRequests(db, clientId)
  return numDeletedRows > 0n
}

/** What a client has asked for and not got yet. */
export async function deleteRequests(db: Db<IdentityTables>, clientId: string): Promise<void> {
  await db.deleteFrom('pushed_requests').where('client_id', '=', clientId).execute()
  await db.deleteFrom('authorizations').where('client_id', '=', clientId).execute()
  await db.deleteFrom('authorization_codes').where('client_id', '=', clientId).execute()
  await db.deleteFrom('device_requests').where('client_id', '=', clientId).execute()
}

type NewSecret = { clientId: string; secretHash: string; now: Date }

export async function insertSecret(
  db: Db<IdentityTables>,
  { clientId, secretHash, now }: NewSecret,
): Promise<void> {
  await db
    .insertInto('client_secrets')
    .values({ secret_hash: secretHash, client_id: clientId, created_at: now.toISOString() })
    .execute()
}

/** The latest secret lasts until then, and older ones end now. */
export async function endSecrets(
  db: Db<IdentityTables>,
  clientId: string,
  { now, until }: { now: Date; until: Date },
): Promise<void> {
  const own = db.deleteFrom('client_secrets').where('client_id', '=', clientId)
  if (until <= now) {
    await own.execute()
    return
  }
  await own.where('expires_at', 'is not', null).execute()
  await db
    .updateTable('client_secrets')
    .set({ expires_at: until.toISOString() })
    .where('client_id', '=', clientId)
    .execute()
}

const secretsByClient = prepared((db: Db<IdentityTables>, { clientId }: { clientId: string }) =>
  db
    .selectFrom('client_secrets')
    .select(['secret_hash', 'expires_at'])
    .where('client_id', '=', clientId),
)

/** The hashes of the secrets that are valid now. */
export async function listSecretHashes(
  db: Db<IdentityTables>,
  clientId: string,
  now: Date,
): Promise<string[]> {
  const rows = await secretsByClient(db, { clientId })
  return rows
    .filter(({ expires_at }) => expires_at === null || expires_at > now.toISOString())
    .map(({ secret_hash }) => secret_hash)
}

/** Returns whether this is the first use of the assertion: the database decides. */
export async function insertAssertion(
  db: Db<IdentityTables>,
  assertionHash: string,
  expiresAt: Date,
): Promise<boolean> {
  const inserted = await db
    .insertInto('client_assertions')
    .values({ assertion_hash: assertionHash, expires_at: expiresAt.toISOString() })
    .onConflict((conflict) => conflict.column('assertion_hash').doNothing())
    .returning('assertion_hash')
    .executeTakeFirst()
  return inserted !== undefined
}

function clientOf(row: Selectable<IdentityTables['clients']>): Client {
  return {
    clientId: row.client_id,
    name: row.name,
    redirectUris: JSON.parse(row.redirect_uris),
    postLogoutRedirectUris: JSON.parse(row.post_logout_redirect_uris),
    authMethod: AUTH_METHODS.find((method) => method === row.auth_method) ?? 'private_key_jwt',
    grantTypes: JSON.parse(row.grant_types),
    scopes: JSON.parse(row.scopes),
    resources: JSON.parse(row.resources),
    jwks: row.jwks === null ? null : JSON.parse(row.jwks),
    jwksUri: row.jwks_uri,
    firstParty: row.first_party === 1,
    requirePkce: row.require_pkce === 1,
    requirePar: row.require_par === 1,
    idTokenAlg: ID_TOKEN_ALGORITHMS.find((name) => name === row.id_token_alg) ?? 'RS256',
    backchannelLogoutUri: row.backchannel_logout_uri,
    uri: row.uri,
    selfRegistered: row.self_registered === 1,
    enabled: row.enabled === 1,
    createdBy: row.created_by,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
  }
}

function columnsOf(client: Client) {
  return {
    name: client.name,
    redirect_uris: JSON.stringify(client.redirectUris),
    post_logout_redirect_uris: JSON.stringify(client.postLogoutRedirectUris),
    auth_method: client.authMethod,
    grant_types: JSON.stringify(client.grantTypes),
    scopes: JSON.stringify(client.scopes),
    resources: JSON.stringify(client.resources),
    jwks: client.jwks === null ? null : JSON.stringify(client.jwks),
    jwks_uri: client.jwksUri,
    first_party: client.firstParty ? 1 : 0,
    require_pkce: client.requirePkce ? 1 : 0,
    require_par: client.requirePar ? 1 : 0,
    id_token_alg: client.idTokenAlg,
    backchannel_logout_uri: client.backchannelLogoutUri,
    uri: client.uri,
    self_registered: client.selfRegistered ? 1 : 0,
    enabled: client.enabled ? 1 : 0,
    created_at: client.createdAt,
    updated_at: client.updatedAt,
  }
}
