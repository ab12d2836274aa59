import type { By } from '@plinth/accounts'
import { recordStorageEvent } from '../audit.ts'
import type { ProviderName } from '../database/tables.ts'
import {
  activate,
  countFilesAt,
  describeLocation,
  findSettings,
  type LocationContext,
  listLocations,
  nameOf,
  openTrial,
  requireActiveLocation,
  requireSettings,
} from './locations.ts'
import { isStoreRefusal, storageTestFailed } from './problems.ts'
import type { Location, ProviderSettings, StorageProvider } from './providers/provider.ts'

/** Checks the active provider at the location in use, and the other one with its saved settings. */
export async function describeStatus(context: LocationContext) {
  const active = await requireActiveLocation(context.db)
  const [LOCAL, OBJECT] = await Promise.all([
    stateOf(context, active, 'LOCAL'),
    stateOf(context, active, 'OBJECT'),
  ])
  const { configured, available } = { LOCAL, OBJECT }[active.provider]
  const inUse = context.providers.unseal(active.provider, active.sealedSettings)
  return {
    activeProvider: active.provider,
    activeLocation: describeLocation(inUse),
    configured,
    available,
    providers: { LOCAL, OBJECT },
  }
}

/** Counting the files at a location stops here. */
export const MAX_COUNTED = 10_000

/** Every location that has or had files, with the number of files that are stored or restorable there. */
export async function describeLocations({ db, providers }: LocationContext) {
  const active = await requireActiveLocation(db)
  const described = []
  for (const { id, provider, sealedSettings } of await listLocations(db))
    described.push({
      id,
      location: describeLocation(providers.unseal(provider, sealedSettings)),
      active: id === active.id,
      files: await countFilesAt(db, id, MAX_COUNTED),
    })
  return described
}

async function stateOf(context: LocationContext, active: Location, name: ProviderName) {
  if (name === active.provider) {
    const available = await answers(context.providers.at(active))
    return { configured: true, available, active: true }
  }
  const settings = await findSettings(context, name)
  if (!settings) return { configured: false, available: false, active: false }
  const trial = await openTrial(context, settings)
  const available = await answers(trial).finally(trial.close)
  return { configured: true, available, active: false }
}

export async function answers(provider: StorageProvider): Promise<boolean> {
  try {
    await provider.check()
    return true
  } catch (error) {
    if (isStoreRefusal(error)) return false
    throw error
  }
}

/** For the health check: whether the active location accepts uploads. */
export async function isWritable({ db, providers }: LocationContext): Promise<boolean> {
  await providers.at(await requireActiveLocation(db)).requireWritable()
  return true
}

/** Tests the saved settings of a provider, step by step. */
export async function testProvider(context: LocationContext, name: ProviderName, by: By) {
  return testSettings(context, await requireSettings(context, name), by)
}

/** The caller learns which step failed; only the log says why, so that it cannot be used to scan ports. */
export async function testSettings(context: LocationContext, settings: ProviderSettings, by: By) {
  const { provider } = settings
  const trial = await openTrial(context, settings)
  const probed = await trial.probe().finally(trial.close)
  const steps = probed.map(({ cause: _, ...step }) => step)
  const failed = probed.find(({ passed }) => !passed)
  const result = failed ? 'REFUSED' : 'SUCCESS'
  await recordStorageEvent(
    context,
    { event: 'STORAGE_TESTED', actor: by.actor, subject: nameOf(settings), result },
    by.origin,
  )
  if (failed) {
    const { name, cause } = failed
    context.log.warn({ provider, step: name, cause }, 'a storage provider failed its test')
    throw storageTestFailed({
      detail: `The test failed at "${failed.name}": ${failed.message}`,
      extra: { provider, success: false, available: false, steps },
    })
  }
  const message = 'An object was written, read back and removed.'
  return { provider, success: true, available: true, message, steps }
}

/** Tests first. If anything fails, the active provider stays active. */
export async function activateProvider(context: LocationContext, name: ProviderName, by: By) {
  const settings = await requireSettings(context, name)
  await testSettings(context, settings, by)
  const location = await activate(context, settings, by)
  context.log.info({ provider: name, location: location.id }, 'storage provider activated')
  return describeStatus(context)
}
