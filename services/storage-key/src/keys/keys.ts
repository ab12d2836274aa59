import { type Database, type Db, openDatabase, type PageRequest } from '@plinth/kit/database'
import { pageOf } from '@plinth/kit/http'
import type { Logger } from '@plinth/kit/logging'
import { StartError } from '@plinth/kit/problems'
import type { Clock } from '@plinth/kit/runtime'
import { type KeyEvent, openServiceKeys, type ServiceKeys } from '@plinth/service-keys'
import type { StorageKeyConfig } from '../config.ts'
import { insertKeyEvent, type KeyTables, listKeyEvents } from './key-events.repository.ts'
import { keyMigrations } from './migrations/0001-key-events.ts'

export { EVENT_SORTS } from './key-events.repository.ts'

export const SCOPES = ['files:read', 'files:write'] as const

export type KeyStore = Pick<Database<KeyTables>, 'db' | 'measure' | 'close'> & { keys: ServiceKeys }

/** The service keys, if there is a database for them; files never need one. */
export async function openKeyStore(
  { databaseUrl, database, production }: StorageKeyConfig,
  { clock, log }: { clock: Clock; log?: Logger },
): Promise<KeyStore | undefined> {
  if (databaseUrl === undefined) return undefined
  const opened = await openDatabase<KeyTables>(databaseUrl, keyMigrations, { ...database, log })
  const { db, measure, close } = opened
  const record = (to: Db<KeyTables>, { event, actor, subject, origin }: KeyEvent) =>
    insertKeyEvent(to, { at: clock().toISOString(), event, actor, subject, ...origin })
  const keys = openServiceKeys(db, { clock, production, scopes: SCOPES, record })
  return { db, keys, measure, close }
}

export async function requireKeyStore(config: StorageKeyConfig, clock: Clock): Promise<KeyStore> {
  const store = await openKeyStore(config, { clock })
  if (store) return store
  throw new StartError('Set STORAGE_KEY_DATABASE_URL: service keys of this edition are kept there.')
}

export async function pageOfEvents({ db }: KeyStore, page: PageRequest) {
  const { events, total } = await listKeyEvents(db, page)
  return pageOf(events, total, page)
}
