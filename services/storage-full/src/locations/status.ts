import { type By, recordEvent } from '@plinth/accounts'
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
import { storageTestFailed, storageUnavailable } from './problems.ts'
import type { Location, ProviderSettings, StorageProvider } from './providers/provider.ts'

/** The active provider is checked where files go now, the other one by what is saved for it. */
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

/** Files at a place are counted no further than this. */
export const MOST_COUNTED = 10_000

/** Every place that has or had files, with the files that are read from there or can be restored. */
export async function describeLocations({ db, providers }: LocationContext) {
  const active = await requireActiveLocation(db)
  const described = []
  for (const { id, provider, sealedSettings } of await listLocations(db))
    described.push({
      id,
      location: describeLocation(providers.unseal(provider, sealedSettings)),
      active: id === active.id,
      files: await countFilesAt(db, id, MOST_COUNTED),
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
    if (storageUnavailable.is(error)) return false
    throw error
  }
}

/** Whether the place that uploads go to takes them, for health. */
export async function isWritable({ db, providers }: LocationContext): Promise<boolean> {
  await providers.at(await requireActiveLocation(db)).requireWritable()
  return true
}

/** Tries what is saved for a provider, step by step. */
export async function testProvider(context: LocationContext, name: ProviderName, by: By) {
  return testSettings(context, await requireSettings(context, name), by)
}

/** The caller learns which step failed, and the log why: what a port answers is not for callers. */
export async function testSettings(context: LocationContext, settings: ProviderSettings, by: By) {
  const { provider } = settings
  const trial = await openTrial(context, settings)
  const probed = await trial.probe().finally(trial.close)
  const steps = probed.map(({ cause: _, ...step }) => step)
  const failed = probed.find(({ passed }) => !passed)
  const test = { event: 'STORAGE_TESTED', actor: by.actor, subject: nameOf(settings) }
  await recordEvent(context, { ...test, result: failed ? 'REFUSED' : 'SUCCESS' }, by.origin)
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

/** Tests first; whatever refuses, the provider that was active stays so. */
export async function activateProvider(context: LocationContext, name: ProviderName, by: By) {
  const settings = await requireSettings(context, name)
  await testSettings(context, settings, by)
  const location = await activate(context, settings, by)
  context.log.info({ provider: name, location: location.id }, 'storage provider activated')
  return describeStatus(context)
}
