import { randomBytes } from 'node:crypto'
import { rmSync, writeFileSync } from 'node:fs'
import { challengeFile } from '@plinth/kit/http'
import { type Env, type Examined, type Finding, hostUrl, skip } from '@plinth/kit/runtime'
import type { ManagementConfig, SuiteConfig } from '../../../launcher/config.ts'
import type { Prepared } from '../../../launcher/prepare/prepare.ts'
import { prefixOf } from '../../../launcher/services.ts'

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

/** This service as its own checks see it. */
export function examinedOf(
  { production, running, suite }: Installation,
  { entry, atSuite }: Prepared,
): Examined {
  const { name } = entry
  const isPublic = !atSuite || suite?.hasPublicUrl === true
  return { name, prefix: prefixOf(entry), production, isRunning: running.has(name), isPublic }
}

/** A check that throws is reported as a fault and does not stop the others. */
export async function orFault(
  check: string,
  work: () => Promise<Finding[]>,
  about = '',
): Promise<Finding[]> {
  try {
    return await work()
  } catch (error) {
    return [
      {
        check,
        status: 'fail',
        seen: `${about}${(error as Error).message}`,
        expected: 'a check that completes',
        why: 'what it checks may be faulty as well',
        fix: 'correct what the message says, or report it with plinth doctor --support',
      },
    ]
  }
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
    return prepared.some(({ service }) =>
      service.config.databaseUrl?.startsWith(`sqlite:${dataFolder}/`),
    )
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

/** A file owned by root may be meant for the service's group, which must be able to read it. */
export function secretMode({ uid, gid }: { uid: number; gid: number }): number {
  return uid === 0 && gid !== 0 ? 0o640 : 0o600
}
