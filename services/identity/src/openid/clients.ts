import { randomBytes } from 'node:crypto'
import type { By } from '@plinth/accounts'
import { insertEvent } from '@plinth/events'
import { type Db, inTransaction, type PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import { validationFailed } from '@plinth/kit/problems'
import { faultOfUrl, secondsAfter } from '@plinth/kit/runtime'
import { hashOpaqueToken, newOpaqueToken } from '@plinth/kit/tokens'
import { type Recorder, recordIdentityEvent } from '../audit.ts'
import { revokeClientSessions } from '../database/client-sessions.repository.ts'
import {
  type Client,
  deleteClient,
  deleteRequests,
  endSecrets,
  findClient,
  insertClient,
  insertSecret,
  listClients,
  lockClient,
  updateClient,
} from '../database/clients.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { AUTHORIZATION_CODE, type OpenId, REFRESH_TOKEN } from './openid.ts'
import { clientUnknown, clientWithoutSecret } from './problems.ts'
import { faultOfAddress } from './redirect-addresses.ts'
import { faultOfResource } from './resources.ts'

export {
  AUTH_METHODS,
  CLIENT_SORTS,
  type Client,
  ID_TOKEN_ALGORITHMS,
} from '../database/clients.repository.ts'

/** What the rules about clients need: less than the rest of the provider, so that a command can use them. */
export type Clients = Pick<OpenId, 'db' | 'clock' | 'issuer' | 'audience' | 'addresses'> & {
  accounts: Recorder
}

type Chosen = Omit<
  Client,
  'clientId' | 'createdBy' | 'createdAt' | 'updatedAt' | 'enabled' | 'selfRegistered'
>

/** What an administrator may choose; what is left out has a default. */
export type ClientRequest = Partial<Chosen> & { name: string }

export type ClientChange = Partial<Chosen & { enabled: boolean }>

/** The secret is returned once, when it is created, and never stored. */
export type IssuedClient = { client: Client; clientSecret: string | null }

const DEFAULTS = {
  redirectUris: [],
  postLogoutRedirectUris: [],
  authMethod: 'client_secret',
  grantTypes: [AUTHORIZATION_CODE, REFRESH_TOKEN],
  scopes: ['openid', 'profile', 'email', 'offline_access'],
  resources: [],
  jwks: null,
  jwksUri: null,
  firstParty: false,
  requirePkce: true,
  requirePar: false,
  idTokenAlg: 'RS256',
  backchannelLogoutUri: null,
  uri: null,
} satisfies Partial<Chosen>

export async function createClient(
  clients: Clients,
  request: ClientRequest,
  by: By,
): Promise<IssuedClient> {
  const now = clients.clock()
  const client = newClient(request, by, now)
  await requireValid(clients, client)
  const secret = client.authMethod === 'client_secret' ? newOpaqueToken() : null
  await inTransaction(clients.db, async (db) => {
    await insertClient(db, client)
    if (secret !== null) await addSecret(db, client, secret, now)
    await record(clients, db, 'CLIENT_CREATED', client, by)
  })
  return { client, clientSecret: secret }
}

function newClient(request: ClientRequest, { actor }: By, now: Date): Client {
  return {
    ...DEFAULTS,
    ...request,
    name: request.name.trim(),
    clientId: newClientId(),
    selfRegistered: false,
    enabled: true,
    createdBy: actor,
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
  }
}

/** Its first character is a letter: a command line takes a word that begins with a hyphen for an option. */
function newClientId(): string {
  const bytes = randomBytes(16)
  bytes.writeUInt8(bytes.readUInt8() & 0x7f)
  return bytes.toString('base64url')
}

const SELF_REGISTERED = 'self-registration'

/** A public client that no administrator knows; its description was checked before. */
export async function registerItself(
  clients: Clients,
  described: ClientRequest,
  origin: By['origin'],
): Promise<Client> {
  const by = { actor: SELF_REGISTERED, origin }
  const request: ClientRequest = { ...described, authMethod: 'none' }
  const client: Client = { ...newClient(request, by, clients.clock()), selfRegistered: true }
  await inTransaction(clients.db, async (db) => {
    await insertClient(db, client)
    await record(clients, db, 'CLIENT_CREATED', client, by)
  })
  return client
}

async function addSecret(
  db: Db<IdentityTables>,
  { clientId }: Client,
  secret: string,
  now: Date,
): Promise<void> {
  await insertSecret(db, { clientId, secretHash: hashOpaqueToken(secret), now })
}

export async function pageOfClients({ db }: Pick<Clients, 'db'>, page: PageRequest) {
  const { clients, total } = await listClients(db, page)
  return pageOf(clients, total, page)
}

export async function requireClient(
  { db }: Pick<Clients, 'db'>,
  clientId: string,
): Promise<Client> {
  const client = clientId.includes('\0') ? undefined : await findClient(db, clientId)
  if (!client) throw clientUnknown()
  return client
}

/** Takes effect at once. A client that is disabled loses its sessions. */
export async function changeClient(
  clients: Clients,
  clientId: string,
  change: ClientChange,
  by: By,
): Promise<Client> {
  const given = Object.fromEntries(
    Object.entries(change).filter(([, value]) => value !== undefined),
  )
  const now = clients.clock()
  await requireValid(clients, { ...(await requireClient(clients, clientId)), ...given })
  return inTransaction(clients.db, async (db) => {
    const before = await lockClient(db, clientId)
    if (!before) throw clientUnknown()
    // Another request may have changed other members meanwhile.
    const client: Client = { ...before, ...given, updatedAt: now.toISOString() }
    const faults = faultsOfProof(client)
    if (faults.length > 0) throw validationFailed(faults)
    await updateClient(db, client)
    // What it got as one of our own opens more than it may have now.
    const isDemoted = before.firstParty && !client.firstParty
    if (!client.enabled || isDemoted) await endUse(db, clientId)
    if (client.authMethod !== 'client_secret') await endSecrets(db, clientId, { now, until: now })
    await record(clients, db, 'CLIENT_CHANGED', client, by)
    return client
  })
}

export async function removeClient(clients: Clients, clientId: string, by: By): Promise<void> {
  const client = await requireClient(clients, clientId)
  await inTransaction(clients.db, async (db) => {
    // First, because its sessions are reported to the address of the client.
    await revokeClientSessions(db, clientId)
    if (!(await deleteClient(db, clientId))) throw clientUnknown()
    await record(clients, db, 'CLIENT_DELETED', client, by)
  })
}

async function endUse(db: Db<IdentityTables>, clientId: string): Promise<void> {
  await revokeClientSessions(db, clientId)
  await deleteRequests(db, clientId)
}

/** A new secret; the old one stays valid for the overlap. */
export async function rotateSecret(
  clients: Clients,
  clientId: string,
  { overlapSeconds = 0, by }: { overlapSeconds?: number | undefined; by: By },
): Promise<{ clientSecret: string }> {
  await requireClient(clients, clientId)
  const now = clients.clock()
  const clientSecret = newOpaqueToken()
  await inTransaction(clients.db, async (db) => {
    const client = await lockClient(db, clientId)
    if (!client) throw clientUnknown()
    if (client.authMethod !== 'client_secret') throw clientWithoutSecret()
    await updateClient(db, { ...client, updatedAt: now.toISOString() })
    await endSecrets(db, clientId, { now, until: secondsAfter(now, overlapSeconds) })
    await addSecret(db, client, clientSecret, now)
    await record(clients, db, 'CLIENT_SECRET_ROTATED', client, by)
  })
  return { clientSecret }
}

const EVENTS = {
  CLIENT_CREATED: 'client.created',
  CLIENT_CHANGED: 'client.updated',
  CLIENT_SECRET_ROTATED: 'client.updated',
  CLIENT_DELETED: 'client.deleted',
} as const

async function record(
  { accounts, clock }: Clients,
  db: Db<IdentityTables>,
  event: keyof typeof EVENTS,
  { clientId, name }: Client,
  { actor, origin, reason }: By,
): Promise<void> {
  const subject = `client ${clientId} (${name})`
  await recordIdentityEvent({ ...accounts, db }, { event, actor, subject, reason }, origin)
  const published = { type: EVENTS[event], subject: `client:${clientId}`, data: { clientId } }
  await insertEvent(db, { ...published, at: clock() })
}

/** All that a schema cannot say. */
async function requireValid(clients: Clients, client: Client): Promise<void> {
  const addresses = {
    redirectUris: client.redirectUris,
    postLogoutRedirectUris: client.postLogoutRedirectUris,
  }
  const faults = Object.entries(addresses).flatMap(([field, uris]) =>
    uris.flatMap((uri) => named(field, faultOfAddress(uri))),
  )
  // PostgreSQL stores no NUL.
  for (const field of ['name', 'uri'] as const)
    if (client[field]?.includes('\0')) faults.push(`${field}: must not contain NUL`)
  faults.push(
    ...client.resources.flatMap((one) => named('resources', faultOfResource(one, clients))),
    ...faultsOfProof(client),
    ...named('uri', client.uri === null ? undefined : faultOfHomePage(client.uri)),
  )
  for (const field of ['jwksUri', 'backchannelLogoutUri'] as const) {
    const uri = client[field]
    if (uri !== null) faults.push(...named(field, await faultOfUrl(uri, clients.addresses)))
  }
  if (faults.length > 0) throw validationFailed(faults)
}

function named(field: string, fault: string | undefined): string[] {
  return fault === undefined ? [] : [`${field}: ${fault}`]
}

function faultOfHomePage(uri: string): string | undefined {
  return /^https?:\/\/[^\s@\p{C}]+$/u.test(uri) && URL.canParse(uri)
    ? undefined
    : 'must be an address'
}

const PRIVATE_MEMBERS = ['d', 'p', 'q', 'dp', 'dq', 'qi', 'oth', 'k']

function faultsOfProof(client: Client): string[] {
  const { authMethod, grantTypes, jwks, jwksUri, redirectUris, requirePkce } = client
  const keys = jwks?.keys ?? []
  const faults: string[] = []
  if (authMethod === 'private_key_jwt' && jwksUri === null && keys.length === 0)
    faults.push('jwks: is required with private_key_jwt, or jwksUri')
  if (jwks !== null && jwksUri !== null) faults.push('jwksUri: must not be given with jwks')
  if (keys.some((key) => PRIVATE_MEMBERS.some((member) => member in key)))
    faults.push('jwks: must have public keys only')
  if (authMethod === 'none' && !requirePkce)
    faults.push('requirePkce: is required without a secret')
  if (grantTypes.includes(AUTHORIZATION_CODE) && redirectUris.length === 0)
    faults.push('redirectUris: must have at least 1 entry')
  return faults
}
