import { existsSync, readFileSync } from 'node:fs'
import { parseEnv } from 'node:util'
import { generatedKey } from './data-folder.ts'
import { isLoopback } from './networks.ts'

export type Env = Record<string, string | undefined>

type SettingFault = { name: string; found: string; expected: string; example: string }

/** Lists every fault in the settings, so that all of them can be fixed at once. */
export class SettingsError extends Error {
  readonly faults: SettingFault[]

  constructor(faults: SettingFault[]) {
    super(describe(faults))
    this.name = 'SettingsError'
    this.faults = faults
  }
}

function describe(faults: SettingFault[]): string {
  const count = faults.length === 1 ? '1 setting needs' : `${faults.length} settings need`
  const lines = faults.map(({ name, found, expected, example }) => {
    return `  ${name}  ${found}\n      ${expected} For example: ${name}=${example}`
  })
  return `${count} attention (nothing was started)\n\n${lines.join('\n')}`
}

/** Reads settings into one value; throws a SettingsError that names every fault at once. */
export function readSettings<T>(env: Env, read: (settings: Settings) => T): T {
  const settings = new Settings(env)
  const value = read(settings)
  if (settings.faults.length > 0) throw new SettingsError(settings.faults)
  return value
}

const YES = new Set(['true', 'on', 'yes', '1'])

const NO = new Set(['false', 'off', 'no', '0'])

const REACHED_BY_OTHERS = 'others can reach the service at this host'

const OUTSIDE_PRODUCTION = ['development', 'test', '']

/** 32 random bytes are nearly all distinct; fewer distinct bytes than this suggest a word or a pattern. */
const MIN_DISTINCT_BYTES = 16

const MAX_SHOWN = 60

const SIZE_UNITS: Record<string, number> = { '': 1, b: 1, kb: 2 ** 10, mb: 2 ** 20, gb: 2 ** 30 }

export class Settings {
  readonly faults: SettingFault[] = []
  readonly production: boolean
  readonly #env: Env

  constructor(env: Env) {
    this.#env = env
    // An unknown value such as `prod` must not turn on the defaults of development.
    const environment = env.NODE_ENV ?? ''
    this.production = !OUTSIDE_PRODUCTION.includes(environment)
    if (this.production && environment !== 'production')
      this.fault('NODE_ENV', 'Expected production, development, test or nothing.', 'production')
  }

  /** Records a fault and continues, so that the others are found too. The value may be a secret and is not shown. */
  fault(name: string, expected: string, example: string): void {
    const found = this.raw(name) === undefined ? '(not set)' : '(set)'
    this.#record({ name, found, expected, example })
  }

  /** Like `fault`, for a number, a flag, a size or a choice, none of which is a secret: the value is shown. */
  #wrong(name: string, expected: string, example: string): void {
    const value = this.#env[`${name}_FILE`] ? undefined : this.#env[name]
    const found = value === undefined ? '(set)' : JSON.stringify(value.slice(0, MAX_SHOWN))
    this.#record({ name, found, expected, example })
  }

  /** Reports a setting that is read twice once, and nothing more about one whose file cannot be read. */
  #record(fault: SettingFault): void {
    const isKnown = this.faults.some(
      ({ name, expected }) =>
        name === `${fault.name}_FILE` || (name === fault.name && expected === fault.expected),
    )
    if (!isKnown) this.faults.push(fault)
  }

  /** The value as given, or the content of the file that `X_FILE` names. */
  raw(name: string): string | undefined {
    const file = this.#env[`${name}_FILE`]
    if (!file) return this.#env[name]
    try {
      return readFileSync(file, 'utf8').replace(/\r?\n$/, '')
    } catch {
      this.#record({
        name: `${name}_FILE`,
        found: file,
        expected: 'Expected a readable file that holds the value.',
        example: `/run/secrets/${name.toLowerCase()}`,
      })
      return undefined
    }
  }

  /** Blank counts as absent. */
  optional(name: string): string | undefined {
    const value = this.raw(name)?.trim()
    return value === '' ? undefined : value
  }

  text(name: string, fallback: string): string {
    return this.optional(name) ?? fallback
  }

  /** A value that has no default. */
  required(name: string, example: string): string {
    const value = this.optional(name)
    if (value === undefined) this.fault(name, 'Expected a value.', example)
    return value ?? ''
  }

  integer(name: string, fallback: number, range: { min?: number; max?: number } = {}): number {
    const { min = 0, max = Number.MAX_SAFE_INTEGER } = range
    const text = this.optional(name)
    if (text === undefined) return fallback
    const value = /^-?\d+$/.test(text) ? Number(text) : Number.NaN
    if (value >= min && value <= max) return value
    this.#wrong(name, `Expected a whole number from ${min} to ${max}.`, String(fallback))
    return fallback
  }

  flag(name: string, fallback: boolean): boolean {
    const text = this.optional(name)?.toLowerCase()
    if (text === undefined) return fallback
    if (!YES.has(text) && !NO.has(text)) this.#wrong(name, 'Expected true or false.', 'true')
    return YES.has(text)
  }

  /**
   * On by default in development; production must turn it on explicitly. Where others can reach the
   * service, development must set it explicitly too; `instead` says what else would do.
   */
  convenience(name: string, { host }: { host: string }, instead?: string): boolean {
    const expected = `Expected true or false: it is for development, and ${REACHED_BY_OTHERS}.`
    if (!this.production && !isLoopback(host) && this.optional(name) === undefined)
      this.fault(name, instead === undefined ? expected : `${expected} ${instead}`, 'false')
    return this.flag(name, !this.production)
  }

  /** A secret, long enough to be hard to guess. */
  secret(name: string, { fewest }: { fewest: number }): string | undefined {
    const text = this.optional(name)
    if (text !== undefined && text.length < fewest)
      this.fault(name, `Expected at least ${fewest} characters.`, '$(openssl rand -base64 24)')
    return text
  }

  size(name: string, fallbackBytes: number, { min = 1 } = {}): number {
    const text = this.optional(name)
    if (text === undefined) return fallbackBytes
    const match = /^(\d+)\s*([kmg]?b)?$/i.exec(text)
    const bytes = Number(match?.[1]) * (SIZE_UNITS[(match?.[2] ?? '').toLowerCase()] ?? Number.NaN)
    if (Number.isSafeInteger(bytes) && bytes >= min) return bytes
    this.#wrong(name, 'Expected a size such as 10MB or 10485760.', '10MB')
    return fallbackBytes
  }

  choice<const T extends string>(name: string, options: readonly T[], fallback: T): T {
    const text = this.optional(name)
    const found = options.find((option) => option === text)
    if (text !== undefined && !found)
      this.#wrong(name, `Expected one of ${options.join(', ')}.`, fallback)
    return found ?? fallback
  }

  list(name: string, fallback: string[]): string[] {
    const text = this.optional(name)
    if (text === undefined) return fallback
    return text
      .split(',')
      .map((part) => part.trim())
      .filter((part) => part !== '')
  }

  /** A base address to append paths to: without a trailing slash. */
  url(name: string, fallback: string): string {
    const text = this.address(name, fallback)
    if (!/^https?:\/\/[^/]*@|[?#]/.test(text)) return text.replace(/\/+$/, '')
    this.fault(name, 'Expected an address without user, query and fragment.', fallback)
    return fallback
  }

  /** An address that is used exactly as written. */
  address(name: string, fallback: string): string {
    const text = this.optional(name) ?? fallback
    if (/^https?:\/\/[^/?#\s]/.test(text) && URL.canParse(text)) return text
    this.fault(name, 'Expected an address that starts with http:// or https://.', fallback)
    return fallback
  }

  /**
   * The address of a service that we trust or send secrets to. Over plain http anyone on the path
   * could impersonate it, so http is allowed only for this machine and for listed hosts.
   */
  trustedUrl(name: string, fallback: string): string {
    const url = this.url(name, fallback)
    const named = this.list('SUITE_PLAIN_HTTP_HOSTS', [])
    const { protocol, hostname } = new URL(url)
    if (protocol === 'http:' && !isLoopback(hostname) && !named.includes(hostname))
      this.fault(
        name,
        'Expected https://, or its host among SUITE_PLAIN_HTTP_HOSTS.',
        'https://app.example',
      )
    return url
  }

  /**
   * A 32-byte key in base64. In development a missing key is generated once and kept in `file`, unless
   * others can reach the service.
   */
  key(name: string, file: string, { host }: { host: string }): Buffer {
    const text = this.optional(name)
    const key = text === undefined ? undefined : Buffer.from(text, 'base64')
    if (key?.length === 32 && new Set(key).size >= MIN_DISTINCT_BYTES) return key
    if (text === undefined && !this.production && isLoopback(host)) return generatedKey(file)
    this.fault(name, 'Expected 32 random bytes in base64.', '$(openssl rand -base64 32)')
    return Buffer.alloc(32)
  }
}

/** Loads settings from `.env` in the working directory, or from `file`; variables already set win. */
export function readEnvFile(env: Env, file?: string): void {
  if (file === undefined && !existsSync('.env')) return
  Object.assign(env, notIn(env, parseEnv(readText(file ?? '.env'))))
}

/** A setting that is given as `X` is not read from `X_FILE` in the file, nor the other way round. */
function notIn(env: Env, given: NodeJS.Dict<string>): Env {
  const other = (name: string) => (name.endsWith('_FILE') ? name.slice(0, -5) : `${name}_FILE`)
  const isGiven = (name: string) => env[name] !== undefined
  return Object.fromEntries(
    Object.entries(given).filter(([name]) => !isGiven(name) && !isGiven(other(name))),
  )
}

const BYTE_ORDER_MARK = /^\uFEFF/

/** Node's own error does not name the path when it is a folder. */
function readText(path: string): string {
  try {
    return readFileSync(path, 'utf8').replace(BYTE_ORDER_MARK, '')
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException
    throw new Error(`${path} cannot be read: ${code ?? message}`, { cause: error })
  }
}
