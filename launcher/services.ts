import { join } from 'node:path'
import type { ServiceData } from '@plinth/backup'
import type { IdentityConfig } from '@plinth/identity'
import type { Server } from '@plinth/kit/http'
import { type Env, enterDataFolder, type ServiceSettings } from '@plinth/kit/runtime'
import type { PaymentsConfig } from '@plinth/payments'
import type { SandboxConfig } from '@plinth/provider-sandbox'
import type { StorageFullConfig } from '@plinth/storage-full'
import type { StorageKeyConfig } from '@plinth/storage-key'
import identity from '../services/identity/package.json' with { type: 'json' }
import payments from '../services/payments/package.json' with { type: 'json' }
import sandbox from '../services/provider-sandbox/package.json' with { type: 'json' }
import storageFull from '../services/storage-full/package.json' with { type: 'json' }
import storageKey from '../services/storage-key/package.json' with { type: 'json' }

type Login = { username: string; password: string; roles: string[] }

/** Development conveniences: on by default in development, refused in production. */
export type Conveniences = { named: string[]; logins?: Login[]; apiKey?: string }

/** A service whose settings have been read. */
export type PreparedService = {
  config: ServiceSettings
  /** Another issuer whose tokens it accepts. */
  trustedIssuer: string | undefined
  conveniences: Conveniences
  /** What a backup of it has to keep. */
  data: ServiceData
  create(): Promise<Server>
  /** The same service with all its data below `folder`; it makes no outgoing calls and delivers nothing. */
  inScratch(folder: string): {
    config: ServiceSettings
    data: ServiceData
    create(): Promise<Server>
  }
}

export type RunningService = {
  entry: ServiceEntry
  server: Server
  /** The address on this machine; `publicUrl` is the one for clients. */
  url: string
  publicUrl: string
  /** The only paths of it that are served below the address of the suite; all if undefined. */
  publicPaths: string[] | undefined
  /** Whether its console is below the address of the suite; false if it has a public URL of its own. */
  atSuite: boolean
  trustedIssuer: string | undefined
  conveniences: Conveniences
}

export type ServiceEntry = {
  name: string
  title: string
  description: string
  version: string
  portSetting: string
  /** The default port. */
  port: number
  /** Its path below the address of the suite. */
  path: string
  /** If present, only these paths of it are served below the address of the suite in production. */
  publicPaths?: string[]
  consolePath: string
  /** Loads the service's code, so a process that runs one service never loads the others. */
  prepare(env: Env): Promise<PreparedService>
}

type Code<C> = {
  loadConfig(env: Env): C
  create(config: C): Promise<Server>
  data(config: C): ServiceData
  conveniences(config: C): Conveniences
  /** Removes the mail server, provider, issuer and deliveries: for a copy of data that is in use elsewhere. */
  cutOff(config: C): C
  trustedIssuer?(config: C): string | undefined
}

const DEMO_ACCOUNTS: Conveniences = {
  named: ['demo accounts'],
  logins: [
    { username: 'admin', password: 'password123123', roles: ['ROLE_ADMIN', 'ROLE_USER'] },
    { username: 'user', password: 'password123123', roles: ['ROLE_USER'] },
  ],
}
const DEVELOPMENT_KEY = 'storage-local-dev-key'
const NONE: Conveniences = { named: [] }

/** In display order. */
export const services: ServiceEntry[] = [
  service({
    name: 'identity',
    title: 'Identity',
    description: 'Accounts, sessions and passkeys.',
    version: identity.apiVersion,
    portSetting: 'IDENTITY_PORT',
    port: 8081,
    path: '/identity',
    load: async () => {
      const { createIdentity, identityData, loadConfig } = await import('@plinth/identity')
      const conveniences = ({ accounts }: IdentityConfig) => seeded(accounts)
      const cutOff = (config: IdentityConfig) => ({
        ...config,
        mail: { ...config.mail, smtp: undefined },
        events: undelivered(config),
      })
      return { loadConfig, create: createIdentity, data: identityData, conveniences, cutOff }
    },
  }),
  service({
    name: 'storage-full',
    title: 'Storage, full edition',
    description:
      'Files with an owner, on disk or in a bucket, with thumbnails and temporary links.',
    version: storageFull.apiVersion,
    portSetting: 'STORAGE_FULL_PORT',
    port: 8082,
    path: '/storage',
    load: async () => {
      const { createStorageFull, storageFullData, loadConfig } = await import(
        '@plinth/storage-full'
      )
      const conveniences = ({ accounts }: StorageFullConfig) => seeded(accounts)
      const cutOff = (config: StorageFullConfig) => ({
        ...config,
        trustedIssuer: undefined,
        events: undelivered(config),
      })
      const about = { data: storageFullData, conveniences, cutOff }
      return { loadConfig, create: createStorageFull, ...about }
    },
  }),
  service({
    name: 'storage-key',
    title: 'Storage, key-protected edition',
    description: 'One flat folder of files behind one API key.',
    version: storageKey.apiVersion,
    portSetting: 'STORAGE_KEY_PORT',
    port: 8083,
    path: '/storage-key',
    load: async () => {
      const { createStorageKey, storageKeyData, loadConfig } = await import('@plinth/storage-key')
      const conveniences = ({ apiKey }: StorageKeyConfig) =>
        apiKey === DEVELOPMENT_KEY ? { named: ['a known API key'], apiKey } : NONE
      const cutOff = (config: StorageKeyConfig) => config
      return { loadConfig, create: createStorageKey, data: storageKeyData, conveniences, cutOff }
    },
  }),
  service({
    name: 'payments',
    title: 'Payments',
    description: 'Customers, hosted checkout, webhooks and refunds.',
    version: payments.apiVersion,
    portSetting: 'PAYMENTS_PORT',
    port: 8084,
    path: '/payments',
    load: async () => {
      const { createPayments, paymentsData, loadConfig } = await import('@plinth/payments')
      const cutOff = (config: PaymentsConfig) => ({
        ...config,
        secretKey: undefined,
        apiBase: undefined,
        sandboxUrl: undefined,
        webhookSecrets: [],
        issuer: undefined,
        access: 'keys' as const,
        events: undelivered(config),
      })
      const trustedIssuer = (config: PaymentsConfig) => config.issuer?.issuer
      const about = { data: paymentsData, conveniences: () => NONE, cutOff, trustedIssuer }
      return { loadConfig, create: createPayments, ...about }
    },
  }),
  service({
    name: 'provider-sandbox',
    title: 'Sandbox provider',
    description: 'Stands in for the payment provider: works offline, fails on demand.',
    version: sandbox.apiVersion,
    portSetting: 'SANDBOX_PORT',
    port: 8085,
    path: '/sandbox',
    // Where customers pay. Controls and the provider's API are for this machine.
    publicPaths: ['/pay', '/sandbox/page.css', '/actuator/health'],
    consolePath: '/sandbox/',
    load: async () => {
      const { createProviderSandbox, sandboxData, loadConfig } = await import(
        '@plinth/provider-sandbox'
      )
      const conveniences = () => ({ named: ['a payment provider that moves no money'] })
      const cutOff = (config: SandboxConfig) => ({ ...config, webhook: undefined })
      const about = { data: sandboxData, conveniences, cutOff }
      return { loadConfig, create: createProviderSandbox, ...about }
    },
  }),
]

/** `IDENTITY_` for the settings of identity. */
export function prefixOf({ portSetting }: Pick<ServiceEntry, 'portSetting'>): string {
  return portSetting.replace(/PORT$/, '')
}

function seeded({ demoAccounts }: { demoAccounts: boolean }): Conveniences {
  return demoAccounts ? DEMO_ACCOUNTS : NONE
}

function undelivered<E>({ events }: { events: E }): E {
  return { ...events, delivers: false }
}

type Described = 'name' | 'title' | 'description' | 'version' | 'portSetting' | 'port' | 'path'
type Description<C> = Pick<ServiceEntry, Described | 'publicPaths'> & {
  consolePath?: string
  load(): Promise<Code<C>>
}

function service<C extends ServiceSettings & Places>({
  load,
  ...about
}: Description<C>): ServiceEntry {
  const prepare = async (env: Env): Promise<PreparedService> => {
    const { loadConfig, create, data, conveniences, cutOff, trustedIssuer } = await load()
    const config = loadConfig(env)
    const named = { name: about.name, prefix: prefixOf(about) }
    const createNamed = async (config: () => C) => {
      const { inService } = await import('@plinth/kit/http')
      return inService(named, async () => create(config()))
    }
    const inScratch = (folder: string) => {
      const scratch = relocated(folder, about.name, cutOff(config))
      return { config: scratch, data: data(scratch), create: () => createNamed(() => scratch) }
    }
    return {
      inScratch,
      config,
      trustedIssuer: trustedIssuer?.(config),
      conveniences: conveniences(config),
      data: data(config),
      create: () => createNamed(() => enterDataFolder(config)),
    }
  }
  return { consolePath: '/api-test/', ...about, prepare }
}

type Places = { databaseUrl?: string | undefined; root?: string; spoolFolder?: string }

/** All data below `folder`, on a free port of this machine. */
function relocated<C extends ServiceSettings & Places>(folder: string, name: string, config: C): C {
  const root = join(folder, name)
  return {
    ...config,
    host: 'localhost',
    port: 0,
    dataFolder: folder,
    drainSeconds: 0,
    logLevel: 'silent',
    tracing: undefined,
    ...(config.databaseUrl !== undefined && { databaseUrl: `sqlite:${root}.db` }),
    ...(config.root !== undefined && { root }),
    ...(config.spoolFolder !== undefined && { spoolFolder: join(root, '.incoming') }),
  }
}
