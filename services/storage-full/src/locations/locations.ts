import { randomBytes } from 'node:crypto'
import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { inTransaction, Type } from '@plinth/kit'
import { PROVIDER_NAMES, type ProviderName } from '../database/tables.ts'
import type { Storage } from '../files/storage.ts'
import {
  findActiveLocation,
  findLocationAt,
  findSealedSettings,
  hasFiles,
  listLocations,
  lockSealedSettings,
  updateActiveLocation,
  updateSealedSettings,
  upsertLocation,
} from './locations.repository.ts'
import { storageNotConfigured } from './problems.ts'
import type { Location, ProviderSettings, StorageProvider } from './providers/provider.ts'

type Keeping = Pick<Storage, 'db' | 'clock' | 'providers'>

const FIRST_FOLDER = 'files'

/** What was saved last for a provider, whether or not it is in use. */
export async function findSettings(
  { db, providers }: Keeping,
  provider: ProviderName,
): Promise<ProviderSettings | undefined> {
  const sealed = await findSealedSettings(db, provider)
  return sealed === undefined ? undefined : providers.unseal(provider, sealed)
}

export async function requireSettings(
  storage: Keeping,
  provider: ProviderName,
): Promise<ProviderSettings> {
  const settings = await findSettings(storage, provider)
  if (!settings) throw storageNotConfigured({ extra: { provider } })
  return settings
}

/** Saving never activates: uploads go on where they went until the provider is activated. */
export async function saveSettings(storage: Keeping, settings: ProviderSettings): Promise<void> {
  const sealed = storage.providers.seal(settings)
  await updateSealedSettings(storage.db, settings.provider, sealed, storage.clock())
}

/** Saves what `change` makes of the saved settings; of two at once, the second sees the first. */
export async function changeSettings(
  storage: Keeping,
  provider: ProviderName,
  change: (before: ProviderSettings | undefined) => ProviderSettings,
): Promise<void> {
  await inTransaction(storage.db, async (db) => {
    await lockSealedSettings(db, provider)
    await saveSettings({ ...storage, db }, change(await findSettings({ ...storage, db }, provider)))
  })
}

export async function requireActiveLocation({ db }: Pick<Storage, 'db'>): Promise<Location> {
  const active = await findActiveLocation(db)
  if (!active) throw new Error('No storage location is active')
  return active
}

/** Whether files were, or are, put into the place these settings lead to. */
export async function isInUse({ db }: Keeping, settings: ProviderSettings): Promise<boolean> {
  return (await findLocationAt(db, settings.provider, placeOf(settings))) !== undefined
}

/** A provider for settings that are not in use; it knows its own files if it was in use before. */
export async function openTrial(
  { db, providers }: Keeping,
  settings: ProviderSettings,
): Promise<StorageProvider> {
  const known = await findLocationAt(db, settings.provider, placeOf(settings))
  return providers.trial(settings, known?.prefix)
}

/**
 * The location for these settings. Only a new one is prepared, and before it is noted: of a place
 * that is known and missing nobody may think that it is empty.
 */
export async function locate(storage: Keeping, settings: ProviderSettings): Promise<Location> {
  const { provider } = settings
  const place = placeOf(settings)
  const known = await findLocationAt(storage.db, provider, place)
  const prefix = known?.prefix ?? `files-${randomBytes(6).toString('hex')}`
  if (!known) await storage.providers.trial(settings, prefix).prepare()
  const sealedSettings = storage.providers.seal(settings)
  const now = storage.clock()
  return upsertLocation(storage.db, { provider, place, prefix, sealedSettings, now })
}

export async function activate(storage: Keeping, settings: ProviderSettings): Promise<Location> {
  const location = await locate(storage, settings)
  await updateActiveLocation(storage.db, location.id, storage.clock())
  return location
}

/** On the first start a folder is configured and active, so that the service works at once. */
export async function prepareFirstStart(storage: Keeping): Promise<void> {
  if (await findActiveLocation(storage.db)) return
  const settings: ProviderSettings = { provider: 'LOCAL', local: { path: FIRST_FOLDER } }
  await saveSettings(storage, settings)
  await activate(storage, settings)
}

/** A wrong master key is found at the start, not when somebody asks for a file. */
export async function requireReadableSettings(storage: Keeping): Promise<void> {
  for (const { provider, sealedSettings } of await listLocations(storage.db))
    storage.providers.unseal(provider, sealedSettings)
  for (const provider of PROVIDER_NAMES) await findSettings(storage, provider)
}

/** What earlier versions left in every folder they tested; this one never makes it. */
const OLD_PROBE = 'probe'

/**
 * To earlier versions a location had no folder until its first file. Where its disk is certainly
 * mounted and no file was stored yet, the folder is made: else it would be taken for lost, and
 * uploads refused.
 */
export async function makeUnusedFolders(storage: Storage, root: string): Promise<void> {
  const { db, log, providers } = storage
  for (const location of await listLocations(db)) {
    const folder = folderOf(storage, root, location)
    if (!folder || !(await isThere(join(folder, OLD_PROBE)))) continue
    if ((await isThere(join(folder, location.prefix))) || (await hasFiles(db, location.id)))
      continue
    await providers
      .at(location)
      .prepare()
      .catch((error) => log.warn({ err: error }, 'the folder for files could not be made'))
  }
}

function folderOf({ providers }: Storage, root: string, location: Location): string | undefined {
  const settings = providers.unseal(location.provider, location.sealedSettings)
  return settings.provider === 'LOCAL' ? join(root, settings.local.path) : undefined
}

async function isThere(path: string): Promise<boolean> {
  const found = await stat(path).catch(() => undefined)
  return found !== undefined
}

const spelling = { message: 'must be LOCAL or OBJECT' }

/** A provider in the body of a request, exactly as the specification spells it. */
export const ProviderNamed = Type.Union([
  Type.Literal('LOCAL', spelling),
  Type.Literal('OBJECT', spelling),
])

/** What makes two settings lead to the same files: new keys for a bucket do not move it. */
function placeOf(settings: ProviderSettings): string {
  return settings.provider === 'LOCAL'
    ? settings.local.path
    : `${settings.object.endpoint} ${settings.object.bucket}`
}
