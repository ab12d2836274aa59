import { type Env, SettingsError, StartError } from '@plinth/kit'
import {
  loadBackups,
  loadConfig,
  loadWorkerCount,
  type SuiteConfig,
  withSuiteAddress,
  withSuiteHost,
} from '../config.ts'
import { type PreparedService, type ServiceEntry, services } from '../services.ts'
import { isAtSuite, withIdentityTokens, withIssuerKey, withPasskeyOrigins } from './one-address.ts'
import { withSandboxKeys } from './sandbox-keys.ts'

export type Prepared = { entry: ServiceEntry; service: PreparedService; atSuite: boolean }

/** Reads all settings before anything starts, and reports the faults of all services together. */
export async function prepareStack(
  given: Env,
  only: ServiceEntry[] = [],
): Promise<{ config: SuiteConfig; prepared: Prepared[] }> {
  const faults: SettingsError['faults'] = []
  const env = (await collectFaults(faults, async () => withSuiteHost(given))) ?? given
  const config = await collectFaults(faults, async () => loadConfig(env))
  await collectFaults(faults, async () => loadBackups(env))
  const chosen = only.length > 0 ? only : services
  const plan = config ? planFor(env, config, chosen) : { env, entries: chosen }
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
      atSuite: isAtSuite(env, entry),
    })),
  }
}

type Plan = { env: Env; entries: ServiceEntry[] }

function planFor(given: Env, config: SuiteConfig, entries: ServiceEntry[]): Plan {
  const addressed = withPasskeyOrigins(withSuiteAddress(given), config)
  const hasIdentity = entries.some(({ name }) => name === 'identity')
  const env = hasIdentity ? withIssuerKey(withIdentityTokens(addressed, config), config) : addressed
  if (!config.sandbox)
    return { env, entries: entries.filter(({ name }) => name !== 'provider-sandbox') }
  const connected = withSandboxKeys(env, config)
  // In production the operator had to set SUITE_SANDBOX=on, so do not ask for a second permission.
  return { env: { ...connected, SANDBOX_ALLOW_PRODUCTION: 'true' }, entries }
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

/** Every service reports the faults of the settings they share. */
function distinct(faults: SettingsError['faults']): SettingsError['faults'] {
  return [...new Map(faults.map((fault) => [fault.name, fault])).values()]
}
