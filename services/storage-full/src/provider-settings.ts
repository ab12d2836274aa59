import { inTransaction } from '@plinth/kit'
import type { Location } from './location.ts'
import {
  findActiveLocation,
  listLocations,
  updateActiveLocation,
  upsertLocation,
} from './locations.repository.ts'
import { type ProviderSettings, placeOf } from './locations.ts'
import { storageNotConfigured } from './problems.ts'
import { findSealedSettings, updateSealedSettings } from './provider-settings.repository.ts'
import { PROVIDER_NAMES, type ProviderName } from './providers/provider.ts'
import type { Storage } from './storage.ts'

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

export async function requireActiveLocation({ db }: Pick<Storage, 'db'>): Promise<Location> {
  const active = await findActiveLocation(db)
  if (!active) throw new Error('No storage location is active')
  return active
}

/** The location for these settings; made now if no file was ever put there. */
export async function locate(storage: Keeping, settings: ProviderSettings): Promise<Location> {
  return upsertLocation(storage.db, {
    provider: settings.provider,
    place: placeOf(settings),
    sealedSettings: storage.providers.seal(settings),
    now: storage.clock(),
  })
}

export async function activate(storage: Keeping, settings: ProviderSettings): Promise<Location> {
  return inTransaction(storage.db, async (db) => {
    const location = await locate({ ...storage, db }, settings)
    await updateActiveLocation(db, location.id, storage.clock())
    return location
  })
}

/** On the first start a folder is configured and active, so that the service works at once. */
export async function prepareFirstStart(storage: Keeping): Promise<void> {
  if (await findActiveLocation(storage.db)) return
  const settings: ProviderSettings = { provider: 'LOCAL', local: { path: FIRST_FOLDER } }
  const provider = storage.providers.trial(settings)
  await provider.probe()
  await saveSettings(storage, settings)
  await activate(storage, settings)
}

/** A wrong master key is found at the start, not when somebody asks for a file. */
export async function requireReadableSettings(storage: Keeping): Promise<void> {
  for (const { provider, sealedSettings } of await listLocations(storage.db))
    storage.providers.unseal(provider, sealedSettings)
  for (const provider of PROVIDER_NAMES) await findSettings(storage, provider)
}
