import { join } from 'node:path'
import type { Operator } from '@plinth/accounts'
import type { ServiceData } from '@plinth/backup'
import type { Db } from '@plinth/kit/database'
import type { Server } from '@plinth/kit/http'
import {
  type Env,
  type Examined,
  enterDataFolder,
  type Finding,
  type ServiceSettings,
} from '@plinth/kit/runtime'
import type { ServiceKeys } from '@plinth/service-keys'
import identityPackage from '../services/identity/package.json' with { type: 'json' }
import paymentsPackage from '../services/payments/package.json' with { type: 'json' }
import sandboxPackage from '../services/provider-sandbox/package.json' with { type: 'json' }
import storageFullPackage from '../services/storage-full/package.json' with { type: 'json' }
import storageKeyPackage from '../services/storage-key/package.json' with { type: 'json' }

type Login = { username: string; password: string; roles: string[] }

/** Development conveniences: on by default in development, refused in production. */
export type Conveniences = {
  named: string[]
  logins?: Login[]
  apiKey?: string
  /** Pages of its console, by their place in it. */
  pages?: { title: string; at: string }[]
}

/** An issuer whose tokens a service accepts, and the setting that names it. */
type TrustedIssuer = {
  issuer: string
  setting: string
  /** Whether users of the service have no other place to sign in. */
  signsIn?: boolean
}

/** What an operator works with: the data of a service, whether or not the service is running. */
export type OperatorDesk = {
  keys: ServiceKeys
  /** Absent if the service has no accounts. */
  users?: Operator
  /** Absent if the service has no clients. */
  clients?: ClientDesk
  /** Absent if the service publishes no events. */
  publishSample?(type: string): Promise<string>
  close(): Promise<void>
}

/** The applications that users of a service sign in to. */
export type ClientDesk = {
  create(
    request: NewClient,
  ): Promise<{ clientId: string; name: string; clientSecret: string | null }>
  list(): Promise<ListedClient[]>
  rotate(clientId: string, overlapSeconds: number): Promise<{ clientSecret: string }>
  disable(clientId: string): Promise<void>
  remove(clientId: string): Promise<void>
}

type NewClient = {
  name: string
  redirectUris: string[]
  authMethod: 'client_secret' | 'none'
  firstParty: boolean
}

type ListedClient = {
  clientId: string
  name: string
  redirectUris: string[]
  firstParty: boolean
  enabled: boolean
}

/** Checks of `plinth doctor` by name. */
type Checks = Record<string, (examined: Examined) => Promise<Finding[]>>

/** The settings of a service, including those that only some services have. */
type Settings = ServiceSettings & {
  databaseUrl?: string | undefined
  database?: { poolSize: number }
  root?: string
  spoolFolder?: string
}

/** A service whose settings have been read. */
export type PreparedService = {
  config: Settings
  /** The issuer of the tokens it signs for other services. */
  issuer: string | undefined
  trustedIssuer: TrustedIssuer | undefined
  conveniences: Conveniences
  /** What a backup of it has to keep. */
  data: ServiceData
  checks: Checks
  /** Those that read its tables, which must have the schema of this version. */
  dataChecks: Checks
  create(): Promise<Server>
  openForOperator?(): Promise<OperatorDesk>
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
  trustedIssuer: TrustedIssuer | undefined
  conveniences: Conveniences
}

/** What is known of a service without loading its code. */
export type ServiceEntry = {
  name: string
  title: string
  description: string
  version: string
  /** The title of its API document; absent if it has none. */
  apiTitle?: string
  /** The settings with which it serves all its routes; absent if it always does. */
  allRoutes?(dataFolder: string): Env
  portSetting: string
  /** The default port. */
  port: number
  /** Its path below the address of the suite. */
  path: string
  /** If present, only these paths of it are served below the address of the suite in production. */
  publicPaths?: string[]
  consolePath: string
  /** Its console lets users sign in at identity, as a client of it. */
  consoleSignsIn?: true
  /** What operators can do with it on the command line. */
  operated: ('users' | 'keys' | 'clients')[]
  /** The first words of the types of its own events; absent if it publishes none. */
  topics?: string[]
  /** Of its settings that do not start with its own prefix. */
  otherPrefix?: string
  /** What an operator should know after a restore. */
  afterRestore?: string
  /** Other services accept its tokens when it runs with them. */
  signsForOthers?: true
  /** Other services call it, so it closes after them. */
  isCalled?: true
  /** Stands in for an outside service: it runs only if the suite is told to, and its data need not be verified. */
  standsIn?: true
  /** Loads the service's code, so a process that runs one service never loads the others. */
  prepare(env: Env): Promise<PreparedService>
}

/** What a service says about itself: the `description` in its `app.ts`. */
type Code<C, T> = {
  loadConfig(env: Env): C
  create(config: C): Promise<Server>
  data(config: C): ServiceData
  conveniences(config: C): Conveniences
  /** Removes the mail server, provider, issuer and deliveries: for a copy of data that is in use elsewhere. */
  cutOff(config: C): C
  issuer?(config: C): string
  trustedIssuer?(config: C): TrustedIssuer | undefined
  openForOperator?(config: C): Promise<OperatorDesk>
  checks?: Record<string, (examined: Examined, config: C) => Promise<Finding[]>>
  dataChecks?: Record<string, (db: Db<T>, examined: Examined, config: C) => Promise<Finding[]>>
}

export const identity = service({
  name: 'identity',
  title: 'Identity',
  description: 'Accounts, sessions and passkeys.',
  version: identityPackage.apiVersion,
  apiTitle: identityPackage.apiTitle,
  portSetting: 'IDENTITY_PORT',
  port: 8081,
  path: '/identity',
  consoleSignsIn: true,
  operated: ['users', 'keys', 'clients'],
  topics: ['user', 'session', 'passkey', 'mfa'],
  signsForOthers: true,
  isCalled: true,
  load: async () => (await import('@plinth/identity')).description,
})

export const storageFull = service({
  name: 'storage-full',
  title: 'Storage, full edition',
  description: 'Files with an owner, on disk or in a bucket, with thumbnails and temporary links.',
  version: storageFullPackage.apiVersion,
  apiTitle: storageFullPackage.apiTitle,
  portSetting: 'STORAGE_FULL_PORT',
  port: 8082,
  path: '/storage',
  consoleSignsIn: true,
  operated: ['users', 'keys'],
  topics: ['file', 'link'],
  load: async () => (await import('@plinth/storage-full')).description,
})

export const storageKey = service({
  name: 'storage-key',
  title: 'Storage, key-protected edition',
  description: 'One flat folder of files behind one API key.',
  version: storageKeyPackage.apiVersion,
  apiTitle: storageKeyPackage.apiTitle,
  portSetting: 'STORAGE_KEY_PORT',
  port: 8083,
  path: '/storage-key',
  allRoutes: (dataFolder) => ({
    STORAGE_KEY_ACTUATOR: 'full',
    STORAGE_KEY_DATABASE_URL: `sqlite:${join(dataFolder, 'storage-key.db')}`,
  }),
  operated: ['keys'],
  load: async () => (await import('@plinth/storage-key')).description,
})

export const payments = service({
  name: 'payments',
  title: 'Payments',
  description: 'Customers, hosted checkout, webhooks and refunds.',
  version: paymentsPackage.apiVersion,
  apiTitle: paymentsPackage.apiTitle,
  portSetting: 'PAYMENTS_PORT',
  port: 8084,
  path: '/payments',
  allRoutes: () => ({
    PAYMENTS_OPERATIONS: 'on',
    PAYMENTS_REQUIRE_ISSUER: 'https://identity.example',
  }),
  consoleSignsIn: true,
  operated: ['keys'],
  topics: ['payment', 'refund'],
  otherPrefix: 'PROVIDER_',
  afterRestore:
    'Payments asks the provider what has happened since, and answers 503 until it knows.',
  load: async () => (await import('@plinth/payments')).description,
})

export const sandbox = service({
  name: 'provider-sandbox',
  title: 'Sandbox provider',
  description: 'Stands in for the payment provider: works offline, fails on demand.',
  version: sandboxPackage.apiVersion,
  portSetting: 'SANDBOX_PORT',
  port: 8085,
  path: '/sandbox',
  // Where customers pay. Controls and the provider's API are for this machine.
  publicPaths: ['/pay', '/sandbox/page.css', '/actuator/health'],
  consolePath: '/sandbox/',
  operated: [],
  isCalled: true,
  standsIn: true,
  load: async () => (await import('@plinth/provider-sandbox')).description,
})

/** In display order. */
export const services: ServiceEntry[] = [identity, storageFull, storageKey, payments, sandbox]

/** `IDENTITY_` for the settings of identity. */
export function prefixOf({ portSetting }: Pick<ServiceEntry, 'portSetting'>): string {
  return portSetting.replace(/PORT$/, '')
}

type Description<C, T> = Omit<ServiceEntry, 'consolePath' | 'prepare'> & {
  consolePath?: string
  load(): Promise<Code<C, T>>
}

function service<C extends Settings, T>({ load, ...about }: Description<C, T>): ServiceEntry {
  const prepare = async (env: Env): Promise<PreparedService> => {
    const code = await load()
    const config = code.loadConfig(env)
    const { openForOperator, cutOff } = code
    const named = { name: about.name, prefix: prefixOf(about) }
    const createNamed = async (config: () => C) => {
      const { inService } = await import('@plinth/kit/http')
      return inService(named, async () => code.create(config()))
    }
    const inScratch = (folder: string) => {
      const scratch = relocated(folder, about.name, cutOff(config))
      return { config: scratch, data: code.data(scratch), create: () => createNamed(() => scratch) }
    }
    return {
      inScratch,
      config,
      issuer: code.issuer?.(config),
      trustedIssuer: code.trustedIssuer?.(config),
      conveniences: code.conveniences(config),
      data: code.data(config),
      create: () => createNamed(() => enterDataFolder(config)),
      ...(openForOperator && { openForOperator: () => openForOperator(enterDataFolder(config)) }),
      ...checksOf(code, config),
    }
  }
  return { consolePath: '/api-test/', ...about, prepare }
}

function checksOf<C extends Settings, T>({ checks = {}, dataChecks = {} }: Code<C, T>, config: C) {
  const own = Object.entries(checks).map(([name, check]) => [
    name,
    (examined: Examined) => check(examined, config),
  ])
  const ofData = Object.entries(dataChecks).map(([name, check]) => [
    name,
    async (examined: Examined) => {
      const { readDatabase } = await import('@plinth/kit/database')
      const { db, close } = await readDatabase<T>(config.databaseUrl ?? '')
      return check(db, examined, config).finally(close)
    },
  ])
  return { checks: Object.fromEntries(own), dataChecks: Object.fromEntries(ofData) }
}

/** All data below `folder`, on a free port of this machine. */
function relocated<C extends Settings>(folder: string, name: string, config: C): C {
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
