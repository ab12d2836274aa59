import type { Env, ServiceSettings } from '@plinth/kit'
import type { SuiteConfig } from '../../../launcher/config.ts'
import type { Prepared } from '../../../launcher/stack/prepare.ts'

/** What one check found: what was seen, what was expected, why it matters, and the line that fixes it. */
export type Finding = {
  check: string
  status: 'ok' | 'warn' | 'fail' | 'skip'
  seen: string
  expected?: string
  why?: string
  fix?: string
}

/** What the checks look at. `suite` and `prepared` are there when the settings can be read. */
export type Patient = {
  env: Env
  dataFolder: string
  hasData: boolean
  production: boolean
  suite: SuiteConfig | undefined
  prepared: Prepared[]
  /** What the services say that answer at their own address. */
  running: Map<string, { status: string; reason?: string }>
}

export type Check = (patient: Patient) => Promise<Finding[]>

/** The settings of a service, with those that only some services have. */
export type Config = ServiceSettings & {
  databaseUrl?: string
  database?: { poolSize: number }
  accounts?: { masterKey: Buffer; issuer: string }
  trustedIssuer?: { issuer: string }
  issuer?: { issuer: string }
  secretKey?: string
  webhookSecrets?: string[]
}

export function configOf({ service }: Prepared): Config {
  return service.config as Config
}

/** `IDENTITY_` for the settings of identity. */
export function prefixOf({ entry }: Prepared): string {
  return entry.portSetting.replace(/PORT$/, '')
}

export function ok(check: string, seen: string): Finding {
  return { check, status: 'ok', seen }
}

export function skip(check: string, seen: string): Finding {
  return { check, status: 'skip', seen }
}
