import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Env, Server, ServiceSettings } from '@plinth/kit'

export type Login = { username: string; password: string; roles: string[] }

/** What is switched on because this is development, and would be refused in production. */
export type Conveniences = { named: string[]; logins?: Login[]; apiKey?: string }

/** A service that has its settings and can be started. */
export type PreparedService = {
  config: ServiceSettings
  conveniences: Conveniences
  create(): Promise<Server>
}

export type ServiceEntry = {
  name: string
  title: string
  version: string
  portSetting: string
  consolePath: string
  /** Loads the service's code: a process that runs one service never reads the others. */
  prepare(env: Env): Promise<PreparedService>
}

type Code<C> = {
  loadConfig(env: Env): C
  create(config: C): Promise<Server>
  conveniences(config: C): Conveniences
}

const DEMO_ACCOUNTS: Conveniences = {
  named: ['demo accounts'],
  logins: [
    { username: 'admin', password: 'password123123', roles: ['ROLE_ADMIN', 'ROLE_USER'] },
    { username: 'user', password: 'password123123', roles: ['ROLE_USER'] },
  ],
}
const NONE: Conveniences = { named: [] }

/** In the order in which they are shown. */
export const services: ServiceEntry[] = [
  service('storage-full', 'Storage, full edition', 'STORAGE_FULL_PORT', async () => {
    const { createStorageFull, loadConfig } = await import('@plinth/storage-full')
    return {
      loadConfig,
      create: createStorageFull,
      conveniences: ({ accounts }) => seeded(accounts),
    }
  }),
  service('payments', 'Payments', 'PAYMENTS_PORT', async () => {
    const { createPayments, loadConfig } = await import('@plinth/payments')
    return { loadConfig, create: createPayments, conveniences: () => NONE }
  }),
  service(
    'provider-sandbox',
    'Sandbox provider',
    'SANDBOX_PORT',
    async () => {
      const { createProviderSandbox, loadConfig } = await import('@plinth/provider-sandbox')
      const conveniences = () => ({ named: ['a payment provider that moves no money'] })
      return { loadConfig, create: createProviderSandbox, conveniences }
    },
    '/sandbox',
  ),
]

function seeded({ demoAccounts }: { demoAccounts: boolean }): Conveniences {
  return demoAccounts ? DEMO_ACCOUNTS : NONE
}

function service<C extends ServiceSettings>(
  name: string,
  title: string,
  portSetting: string,
  load: () => Promise<Code<C>>,
  consolePath = '/api-test/',
): ServiceEntry {
  const prepare = async (env: Env): Promise<PreparedService> => {
    const { loadConfig, create, conveniences } = await load()
    const config = loadConfig(env)
    return { config, conveniences: conveniences(config), create: () => create(config) }
  }
  return { name, title, version: versionOf(name), portSetting, consolePath, prepare }
}

function versionOf(name: string): string {
  const manifest = join(import.meta.dirname, '../services', name, 'package.json')
  return JSON.parse(readFileSync(manifest, 'utf8')).version
}
