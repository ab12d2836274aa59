import type { ProviderName } from '../database/tables.ts'
import {
  activate,
  describeLocation,
  findSettings,
  type LocationContext,
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
export async function testProvider(context: LocationContext, name: ProviderName) {
  return testSettings(context, await requireSettings(context, name))
}

export async function testSettings(context: LocationContext, settings: ProviderSettings) {
  const { provider } = settings
  const trial = await openTrial(context, settings)
  const steps = await trial.probe().finally(trial.close)
  const failed = steps.find(({ passed }) => !passed)
  if (failed)
    throw storageTestFailed({
      detail: `The test failed at "${failed.name}": ${failed.message}`,
      extra: { provider, success: false, available: false, steps },
    })
  const message = 'An object was written, read back and removed.'
  return { provider, success: true, available: true, message, steps }
}

/** Tests first; whatever refuses, the provider that was active stays so. */
export async function activateProvider(context: LocationContext, name: ProviderName) {
  const settings = await requireSettings(context, name)
  await testSettings(context, settings)
  const location = await activate(context, settings)
  context.log.info({ provider: name, location: location.id }, 'storage provider activated')
  return describeStatus(context)
}
