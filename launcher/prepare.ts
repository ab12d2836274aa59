import { type Env, SettingsError, StartError } from '@plinth/kit'
import { loadConfig, loadWorkerCount, type SuiteConfig } from './config.ts'
import { withSandboxKeys } from './sandbox-keys.ts'
import { type PreparedService, type ServiceEntry, services } from './services.ts'

export type Prepared = { entry: ServiceEntry; service: PreparedService }

/** Reads all settings before anything starts; the faults of all services are reported together. */
export async function prepareStack(
  env: Env,
): Promise<{ config: SuiteConfig; prepared: Prepared[] }> {
  const faults: SettingsError['faults'] = []
  const config = await collectFaults(faults, async () => loadConfig(env))
  const plan = config ? planFor(env, config) : { env, entries: services }
  const prepared = await Promise.all(
    plan.entries.map((entry) => collectFaults(faults, () => entry.prepare(plan.env))),
  )
  if (!config || faults.length > 0) throw new SettingsError(distinct(faults))
  if (loadWorkerCount(env) > 1)
    throw new StartError('WORKERS is for one service: WORKERS=4 npm start -- identity')
  return {
    config,
    prepared: plan.entries.map((entry, index) => ({
      entry,
      service: prepared[index] as PreparedService,
    })),
  }
}

function planFor(env: Env, config: SuiteConfig): { env: Env; entries: ServiceEntry[] } {
  if (!config.sandbox)
    return { env, entries: services.filter(({ name }) => name !== 'provider-sandbox') }
  const introduced = withSandboxKeys(env, config)
  // SUITE_SANDBOX=on is what somebody said by name; once is enough.
  return { env: { ...introduced, SANDBOX_ALLOW_PRODUCTION: 'true' }, entries: services }
}

async function collectFaults<T>(
  faults: SettingsError['faults'],
  read: () => Promise<T>,
): Promise<T | undefined> {
  try {
    return await read()
  } catch (error) {
    if (!(error instanceof SettingsError)) throw error
    faults.push(...error.faults)
    return undefined
  }
}

/** Settings that services share would be reported once by each. */
function distinct(faults: SettingsError['faults']): SettingsError['faults'] {
  return [...new Map(faults.map((fault) => [fault.name, fault])).values()]
}
