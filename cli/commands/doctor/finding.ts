import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { challengeFile } from '@plinth/kit/http'
import { type Env, hostUrl, type ServiceSettings, systemClock } from '@plinth/kit/runtime'
import type { ManagementConfig, SuiteConfig } from '../../../launcher/config.ts'
import type { Prepared } from '../../../launcher/stack/prepare.ts'

/** The result of one check: what was seen, what was expected, why it matters and how to fix it. */
export type Finding = { check: string; seen: string } & (
  | { status: 'ok' | 'skip' }
  | { status: 'warn' | 'fail'; expected: string; why: string; fix: string }
)

/** What the checks examine. `suite` is undefined and `prepared` empty if the settings cannot be read. */
export type Installation = {
  env: Env
  settingsFile: string
  dataFolder: string
  hasData: boolean
  production: boolean
  suite: SuiteConfig | undefined
  management: ManagementConfig | undefined
  prepared: Prepared[]
  /** The health of each service of this installation that answers at its own address. */
  running: Map<string, Health>
}

export type Check = (installation: Installation) => Promise<Finding[]>

/** The settings of a service, including those that only some services have. */
export type Config = ServiceSettings & {
  databaseUrl?: string
  database?: { poolSize: number }
  masterKey?: Buffer
  accounts?: { masterKey: Buffer; issuer: string; keyRotationDays: number }
  trustedIssuer?: { issuer: string }
  issuer?: { issuer: string }
  secretKey?: string
  webhookSecrets?: string[]
}

export function configOf({ service }: Prepared): Config {
  return service.config as Config
}

export function ok(check: string, seen: string): Finding {
  return { check, status: 'ok', seen }
}

export function skip(check: string, seen: string): Finding {
  return { check, status: 'skip', seen }
}

/** For a check that cannot say anything without valid settings. */
export function unknown(check: string): Finding {
  return skip(check, 'not checked: the settings are invalid')
}

type Health = { status: string; reason?: string }

const ANSWER_MS = 3_000

/** What a listener of Plinth reports; undefined if nothing answers, or another program does. */
export async function healthAt(host: string, port: number): Promise<Health | undefined> {
  const reply = await fetch(`${hostUrl(host, port)}/actuator/health`, {
    signal: AbortSignal.timeout(ANSWER_MS),
  }).catch(() => undefined)
  const body = (await reply?.json().catch(() => undefined)) as Partial<Health> | undefined
  return body?.status === undefined ? undefined : { ...body, status: body.status }
}

/** Passes the path of a one-time challenge: only services with this data folder answer it. */
export async function withChallenge<T>(
  dataFolder: string,
  use: (path: string) => Promise<T>,
): Promise<T> {
  const nonce = randomBytes(16).toString('hex')
  const file = challengeFile(dataFolder, nonce)
  writeFileSync(file, '', { mode: 0o600 })
  try {
    return await use(`/actuator/doctor/${nonce}`)
  } finally {
    rmSync(file, { force: true })
  }
}

type Data = Pick<Installation, 'dataFolder' | 'hasData' | 'prepared'>

/** Whether what answers at a port is a service of another installation; false if that cannot be told. */
export async function isForeign(
  { dataFolder, hasData, prepared }: Data,
  { host, port }: { host: string; port: number },
): Promise<boolean> {
  // A service that keeps its database there would have created the folder.
  if (!hasData)
    return prepared.some((each) => configOf(each).databaseUrl?.startsWith(`sqlite:${dataFolder}/`))
  try {
    return await withChallenge(dataFolder, async (path) => {
      const signal = AbortSignal.timeout(ANSWER_MS)
      const reply = await fetch(`${hostUrl(host, port)}${path}`, { signal })
      await reply.body?.cancel()
      return reply.status === 404
    })
  } catch {
    return false
  }
}

/** Tokens and signatures contain times, so the clocks must agree. */
export function clockFindings(whose: string, theirs: number): Finding[] {
  const seconds = Math.abs(theirs - systemClock().getTime()) / 1000
  if (Number.isNaN(seconds)) return [skip('clock', `${whose} does not send the time`)]
  if (seconds <= 5) return [ok('clock', `agrees with ${whose}`)]
  return [
    {
      check: 'clock',
      status: seconds > 60 ? 'fail' : 'warn',
      seen: `the clock of ${whose} differs by ${Math.round(seconds)} s`,
      expected: 'less than 5 s',
      why: 'tokens would be refused as expired or not yet valid',
      fix: 'timedatectl set-ntp true, on both machines',
    },
  ]
}

/** A file owned by root may be meant for the service's group, which must be able to read it. */
export function secretMode({ uid, gid }: { uid: number; gid: number }): number {
  return uid === 0 && gid !== 0 ? 0o640 : 0o600
}
