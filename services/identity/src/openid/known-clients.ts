import type { Db } from '@plinth/kit/database'
import {
  type Client,
  findClient,
  holdClient,
  listClientNames,
} from '../database/clients.repository.ts'
import type { IdentityTables } from '../database/tables.ts'
import { CONSOLE_CLIENT, CONSOLE_NAME, consoleClient } from './consoles.ts'
import type { OpenId } from './openid.ts'
import { isRegistered } from './redirect-addresses.ts'

/** A registered client, or the consoles' own, unless it is disabled. */
export async function findKnownClient(
  { db, consoles }: Pick<OpenId, 'db' | 'consoles'>,
  clientId: string,
): Promise<Client | undefined> {
  if (clientId === CONSOLE_CLIENT) return consoleClient(consoles)
  // PostgreSQL accepts no NUL.
  const client = clientId.includes('\0') ? undefined : await findClient(db, clientId)
  return client?.enabled ? client : undefined
}

/** Whether the client is still enabled, in a transaction that gives it something. */
export async function isStillKnown(db: Db<IdentityTables>, { clientId }: Client): Promise<boolean> {
  return clientId === CONSOLE_CLIENT || holdClient(db, clientId)
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
  const names = await listClientNames(db, clientIds)
  return names.set(CONSOLE_CLIENT, CONSOLE_NAME)
}
