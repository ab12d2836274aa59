import type { Origin } from '@plinth/accounts'
import type { Db } from '@plinth/kit/database'
import { findDocument, listDocumentNames } from '../database/client-documents.repository.ts'
import {
  type Client,
  findClient,
  holdClient,
  listClientNames,
} from '../database/clients.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { findDocumentClient, loadDocumentClient, looksLikeAddress } from './client-documents.ts'
import { COMMAND_CLIENT, COMMAND_NAME, commandClient } from './command-line.ts'
import { CONSOLE_CLIENT, CONSOLE_NAME, consoleClient } from './consoles.ts'
import type { OpenId } from './openid.ts'
import { isRegistered } from './redirect-addresses.ts'

/** A registered client, one that a document describes, or the consoles' own, unless it is disabled. */
export async function findKnownClient(
  openid: Pick<OpenId, 'db' | 'consoles' | 'documents' | 'commandLogin' | 'addresses'>,
  clientId: string,
): Promise<Client | undefined> {
  if (looksLikeAddress(clientId)) return findDocumentClient(openid, clientId)
  if (clientId === CONSOLE_CLIENT) return consoleClient(openid.consoles)
  if (clientId === COMMAND_CLIENT) return openid.commandLogin ? commandClient() : undefined
  // PostgreSQL accepts no NUL.
  const client = clientId.includes('\0') ? undefined : await findClient(openid.db, clientId)
  return client?.enabled ? client : undefined
}

/** The same at the start of a request of a client, outside any transaction: an old document is fetched again. */
export async function loadKnownClient(
  openid: OpenId,
  clientId: string,
  origin: Origin,
): Promise<Client | undefined> {
  return looksLikeAddress(clientId)
    ? loadDocumentClient(openid, clientId, origin)
    : findKnownClient(openid, clientId)
}

/** Whether the client is still enabled, in a transaction that gives it something. */
export async function isStillKnown(db: Db<IdentityTables>, { clientId }: Client): Promise<boolean> {
  if (looksLikeAddress(clientId)) return (await findDocument(db, clientId)) !== undefined
  return isBuiltIn(clientId) || holdClient(db, clientId)
}

export function isBuiltIn(clientId: string): boolean {
  return clientId === CONSOLE_CLIENT || clientId === COMMAND_CLIENT
}

export function isConsole({ clientId }: Client): boolean {
  return clientId === CONSOLE_CLIENT
}

export function acceptsRedirect(client: Client, address: string): boolean {
  return isConsole(client)
    ? client.redirectUris.includes(address)
    : isRegistered(client.redirectUris, address)
}

export async function clientNames(
  db: Db<IdentityTables>,
  clientIds: string[],
): Promise<Map<string, string>> {
  const registered = await listClientNames(db, clientIds)
  const described = await listDocumentNames(db, clientIds.filter(looksLikeAddress))
  return new Map([
    ...registered,
    ...described,
    [CONSOLE_CLIENT, CONSOLE_NAME],
    [COMMAND_CLIENT, COMMAND_NAME],
  ])
}
