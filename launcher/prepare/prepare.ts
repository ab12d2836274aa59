import { type Env, SettingsError } from '@plinth/kit/runtime'
import {
  loadBackups,
  loadConfig,
  loadManagement,
  loadWorkerCount,
  type ManagementConfig,
  type SuiteConfig,
  withSuiteAddress,
  withSuiteHost,
} from '../config.ts'
import { type PreparedService, type ServiceEntry, services } from '../services.ts'
import {
  isAtSuite,
  withConsoles,
  withIdentityTokens,
  withIssuerKey,
  withPasskeyOrigins,
} from './one-issuer.ts'
import { withSandboxKeys } from './sandbox-keys.ts'

export type Prepared = { entry: ServiceEntry; service: PreparedService; atSuite: boolean }

type PreparedStack = {
  config: SuiteConfig
  management: ManagementConfig | undefined
  workers: number
  prepared: Prepared[]
}

/** Reads all settings before anything starts, and reports the faults of all services together. */
export async function prepareStack(given: Env, only: ServiceEntry[] = []): Promise<PreparedStack> {
  const faults: SettingsError['faults'] = []
  const env = (await collectFaults(faults, async () => withSuiteHost(given))) ?? given
  const config = await collectFaults(faults, async () => loadConfig(env))
  await collectFaults(faults, async () => loadBackups(env))
  const { management, workers = 1 } = await processSettings(env, faults)
  const chosen = only.length > 0 ? only : services
  const planned = config && (await collectFaults(faults, async () => planFor(env, config, chosen)))
  const plan = planned ?? { env, entries: withoutSandbox(chosen) }
  const prepared = await Promise.all(
    plan.entries.map((entry) => collectFaults(faults, () => entry.prepare(plan.env))),
  )
  if (!config || faults.length > 0) throw new SettingsError(distinct(faults))
  return {
    config,
    management,
    workers,
    prepared: plan.entries.map((entry, index) => ({
      entry,
      service: prepared[index] as PreparedService,
      atSuite: isAtSuite(env, entry),
    })),
  }
}

/** How one service runs. If that is invalid, `prepare` adds the faults of the service itself. */
export async function prepareProcess(
  env: Env,
  prepare: () => Promise<PreparedService>,
): Promise<Pick<PreparedStack, 'management' | 'workers'>> {
  const faults: SettingsError['faults'] = []
  const { management, workers = 1 } = await processSettings(env, faults)
  if (faults.length === 0) return { management, workers }
  await collectFaults(faults, prepare)
  throw new SettingsError(distinct(faults))
}

async function processSettings(env: Env, faults: SettingsError['faults']) {
  return {
    management: await collectFaults(faults, async () => loadManagement(env)),
    workers: await collectFaults(faults, async () => loadWorkerCount(env)),
  }
}

type Plan = { env: Env; entries: ServiceEntry[] }

function planFor(given: Env, config: SuiteConfig, entries: ServiceEntry[]): Plan {
  const addressed = withPasskeyOrigins(withSuiteAddress(given), config)
  const hasIssuer = entries.some(({ signsForOthers }) => signsForOthers)
  const env = hasIssuer ? withOneIssuer(addressed, config, entries) : addressed
  if (!config.sandbox) return { env, entries: withoutSandbox(entries) }
  const connected = withSandboxKeys(env, config)
  // In production the operator had to set SUITE_SANDBOX=on, so do not ask for a second permission.
  return { env: { ...connected, SANDBOX_ALLOW_PRODUCTION: 'true' }, entries }
}

function withOneIssuer(env: Env, config: SuiteConfig, entries: ServiceEntry[]): Env {
  return withConsoles(withIssuerKey(withIdentityTokens(env, config), config), config, entries)
}

function withoutSandbox(entries: ServiceEntry[]): ServiceEntry[] {
  return entries.filter(({ standsIn }) => !standsIn)
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
