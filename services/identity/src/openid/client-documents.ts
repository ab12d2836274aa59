import { countFrom, type Origin, throttled } from '@plinth/accounts'
import {
  HOUR_SECONDS,
  isAhead,
  isLoopback,
  MAX_CLOCK_SKEW_SECONDS,
  secondsAfter,
} from '@plinth/kit/runtime'
import { findDocument, saveDocument } from '../database/client-documents.repository.ts'
import type { Client } from '../database/clients.repository.ts'
import { DOCUMENT_SECONDS, MAX_DOCUMENTS_AN_HOUR } from '../limits.ts'
import { MetadataFault, readMetadata } from './client-metadata.ts'
import { type Fetched, fetchJson } from './fetched-json.ts'
import type { OpenId } from './openid.ts'

const MAX_BYTES = 8_192
const MAX_ADDRESS = 1_000
const MAX_AT_ONCE = 50

/** The address does not answer, or with something that is no document. */
export class DocumentUnavailable extends Error {}

/** Client ID Metadata Documents: whether an id is the address of a document, and one that the settings allow. */
function isDocumentAddress(
  { documents, addresses }: Pick<OpenId, 'documents' | 'addresses'>,
  clientId: string,
): boolean {
  if (documents === 'off' || !looksLikeAddress(clientId)) return false
  const url = new URL(clientId)
  const isSafe =
    url.protocol === 'https:' ||
    (url.protocol === 'http:' && !addresses.production && isLoopback(url.hostname))
  // A host alone is no document, and the address must be written in one way only, or one client would be several.
  if (!isSafe || url.pathname === '/' || url.hash !== '' || url.username !== '') return false
  if (url.href !== clientId) return false
  return documents === 'on' || documents.includes(url.host)
}

export function looksLikeAddress(clientId: string): boolean {
  const isText = clientId.length <= MAX_ADDRESS && /^https?:\/\/[\x21-\x7e]+$/.test(clientId)
  return isText && URL.canParse(clientId)
}

/** As it was when it was fetched, however long ago: for a request that began with a fresh one. */
export async function findDocumentClient(
  openid: Pick<OpenId, 'db' | 'documents' | 'addresses'>,
  clientId: string,
): Promise<Client | undefined> {
  if (!isDocumentAddress(openid, clientId)) return undefined
  return (await findDocument(openid.db, clientId))?.client
}

/** At most a day old. Never called in a transaction, because it may fetch the document. */
export async function loadDocumentClient(
  openid: OpenId,
  clientId: string,
  origin: Origin,
): Promise<Client | undefined> {
  if (!isDocumentAddress(openid, clientId)) return undefined
  const known = await findFresh(openid, clientId)
  if (known) return known
  await admit(openid, origin)
  return fetchOnce(openid, clientId)
}

async function findFresh({ db, clock }: OpenId, clientId: string): Promise<Client | undefined> {
  const known = await findDocument(db, clientId)
  if (!known) return undefined
  const staleAt = secondsAfter(known.fetchedAt, DOCUMENT_SECONDS)
  return isAhead(staleAt, DOCUMENT_SECONDS + MAX_CLOCK_SKEW_SECONDS, clock())
    ? known.client
    : undefined
}

async function admit({ accounts }: OpenId, origin: Origin): Promise<void> {
  const allowance = { kind: 'client document', limit: MAX_DOCUMENTS_AN_HOUR, seconds: HOUR_SECONDS }
  const beyond = await countFrom(accounts, allowance, { event: 'ACCESS_DENIED' }, origin)
  if (beyond) throw throttled(accounts, beyond)
}

const fetching = new WeakMap<OpenId['accounts'], Map<string, Promise<Client>>>()

/** Concurrent requests of one client wait for the same answer. */
function fetchOnce(openid: OpenId, clientId: string): Promise<Client> {
  const current = fetching.get(openid.accounts) ?? new Map<string, Promise<Client>>()
  fetching.set(openid.accounts, current)
  const known = current.get(clientId)
  if (known) return known
  if (current.size >= MAX_AT_ONCE) throw new DocumentUnavailable('Too many documents at once.')
  const client = fetchDocument(openid, clientId).finally(() => current.delete(clientId))
  current.set(clientId, client)
  return client
}

async function fetchDocument(openid: OpenId, clientId: string): Promise<Client> {
  // A request that looked before an earlier fetch had ended comes here after it.
  const known = await findFresh(openid, clientId)
  if (known) return known
  const rules = { maxBytes: MAX_BYTES }
  const fetched = await fetchJson(clientId, openid.addresses, rules).catch((cause: unknown) => {
    throw new DocumentUnavailable('The document could not be fetched.', { cause })
  })
  const now = openid.clock()
  const client = clientIn(fetched, clientId, now)
  await saveDocument(openid.db, { client, fetchedAt: now })
  return client
}

const JSON_TYPE = /^application\/([\w.-]+\+)?json *(;|$)/i

function clientIn({ type, value }: Fetched, clientId: string, now: Date): Client {
  if (!JSON_TYPE.test(type)) throw new MetadataFault('The document is not application/json.')
  if (typeof value !== 'object' || value === null || Array.isArray(value))
    throw new MetadataFault('The document is not an object.')
  const metadata = { ...value }
  // Otherwise anyone who can place a file somewhere could pass for another client.
  if (!('client_id' in metadata) || metadata.client_id !== clientId)
    throw new MetadataFault('The document does not name its own address as client_id.')
  if ('client_secret' in metadata) throw new MetadataFault('The document has a client_secret.')
  return {
    ...readMetadata(metadata, new URL(clientId)),
    clientId,
    ...PUBLIC,
    createdBy: '',
    createdAt: now.toISOString(),
    updatedAt: now.toISOString(),
  }
}

/** What no client can say of itself. */
const PUBLIC = {
  authMethod: 'none',
  resources: [],
  jwks: null,
  jwksUri: null,
  firstParty: false,
  requirePkce: true,
  requirePar: false,
  backchannelLogoutUri: null,
  selfRegistered: true,
  enabled: true,
} satisfies Partial<Client>
