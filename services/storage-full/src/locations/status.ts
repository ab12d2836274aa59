import type { ProviderName } from '../database/tables.ts'
import type { Storage } from '../files/storage.ts'
import {
  activate,
  findSettings,
  openTrial,
  requireActiveLocation,
  requireSettings,
} from './locations.ts'
import { storageTestFailed } from './problems.ts'
import type { ProviderSettings, StorageProvider } from './providers/provider.ts'

/** The active provider is judged where files go now, the other one by what is saved for it. */
export async function describeStatus(storage: Storage) {
  const active = await requireActiveLocation(storage)
  const stateOf = async (name: ProviderName) => {
    if (name === active.provider) {
      const available = await answers(storage.providers.at(active))
      return { configured: true, available, active: true }
    }
    const settings = await findSettings(storage, name)
    if (!settings) return { configured: false, available: false, active: false }
    const trial = await openTrial(storage, settings)
    const available = await answers(trial)
    trial.close()
    return { configured: true, available, active: false }
  }
  const [LOCAL, OBJECT] = await Promise.all([stateOf('LOCAL'), stateOf('OBJECT')])
  const { configured, available } = { LOCAL, OBJECT }[active.provider]
  return {
    activeProvider: active.provider,
    configured,
    available,
    providers: { LOCAL, OBJECT },
  }
}

/** Tries what is saved for a provider, step by step. */
export async function testProvider(storage: Storage, name: ProviderName) {
  return testSettings(storage, await requireSettings(storage, name))
}

export async function testSettings(storage: Storage, settings: ProviderSettings) {
  const name = settings.provider
  const trial = await openTrial(storage, settings)
  const steps = await trial.probe()
  trial.close()
  const failed = steps.find(({ passed }) => !passed)
  if (failed)
    throw storageTestFailed({
      detail: `The test failed at "${failed.name}": ${failed.message}`,
      extra: { provider: name, success: false, available: false, steps },
    })
  return {
    provider: name,
    success: true,
    available: true,
    message: 'An object was written, read back and removed.',
    steps,
  }
}

/** Tests first; whatever refuses, the provider that was active stays so. */
export async function activateProvider(storage: Storage, name: ProviderName) {
  const settings = await requireSettings(storage, name)
  await testSettings(storage, settings)
  const location = await activate(storage, settings)
  storage.log.info({ provider: name, location: location.id }, 'storage provider activated')
  return describeStatus(storage)
}

export async function answers(provider: StorageProvider): Promise<boolean> {
  return provider.check().then(
    () => true,
    () => false,
  )
}
