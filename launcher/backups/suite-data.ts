/** The data of the configured services, for a backup, a restore and a move. */
import { relative, resolve } from 'node:path'
import { BackupError, hasData, readRecord, type Scratch, type ServiceData } from '@plinth/backup'
import { closeGracefully, listen } from '@plinth/kit/http'
import { StartError } from '@plinth/kit/problems'
import { type Env, hostUrl, refuseUnfinishedRestore, withoutSavingKeys } from '@plinth/kit/runtime'
import { loadBackups } from '../config.ts'
import { type Prepared, prepareStack } from '../prepare/prepare.ts'
import { type ServiceEntry, services } from '../services.ts'

export async function suiteData(env: Env, only?: ServiceEntry[]): Promise<ServiceData[]> {
  const { prepared } = await prepareStack(dataSettings(env), only)
  return prepared.map(({ service }) => service.data)
}

/** The data depends neither on the number of worker processes nor on the management listener. */
function dataSettings(env: Env): Env {
  const ignored = ['WORKERS', 'SUITE_MANAGEMENT_PORT'].flatMap((name) => [name, `${name}_FILE`])
  return { ...env, ...Object.fromEntries(ignored.map((name) => [name, undefined])) }
}

/**
 * What a backup keeps: the named services, or else all that have data. A service that was never started here is
 * left out. A service that has lost its data is an error: data that was in the last backup, or that a setting
 * places outside the data folder, must exist.
 */
export async function dataToKeep(
  env: Env,
  only: ServiceEntry[] = [],
): Promise<{ kept: ServiceData[]; leftOut: string[] }> {
  refuseUnfinishedRestore(loadBackups(env))
  const all = await suiteData(env, only)
  if (only.length > 0) return { kept: all, leftOut: [] }
  const { dataFolder, record } = loadBackups(env)
  const { succeeded } = await readRecord(record)
  const kept: ServiceData[] = []
  const leftOut: string[] = []
  for (const service of all) {
    const { name } = service
    if (await hasData(service)) kept.push(service)
    else if (succeeded?.services?.includes(name))
      throw missing(name, `the backup of ${succeeded.at} had some`)
    else if (isElsewhere(service, dataFolder))
      throw missing(name, 'its settings name a place for it')
    else leftOut.push(name)
  }
  if (kept.length > 0) return { kept, leftOut }
  throw new BackupError(
    'refused',
    `No service has data in ${dataFolder}. SUITE_DATA names another.`,
  )
}

function missing(name: string, why: string): BackupError {
  return new BackupError(
    'refused',
    `${name} has no data, and ${why}: bring it back, or name the services to keep (plinth backup create identity …).`,
  )
}

function isElsewhere({ database, root }: ServiceData, dataFolder: string): boolean {
  const isBelow = (path: string) => !relative(dataFolder, resolve(path)).startsWith('..')
  const url = database?.url ?? ''
  if (url !== '' && !(url.startsWith('sqlite:') && isBelow(url.slice('sqlite:'.length))))
    return true
  return root !== undefined && !isBelow(root)
}

/**
 * Prepares only the services in the archive, so that the others need no valid settings. Creates no keys: an archive
 * needs those it was made with, and a new one would only look as if it had been given.
 */
async function prepareNamed(env: Env, names: string[]) {
  const only = services.filter(({ name }) => names.includes(name))
  const { result: prepared, unsaved } = await withoutSavingKeys(
    async (): Promise<Prepared[]> =>
      only.length === 0 ? [] : (await prepareStack(dataSettings(env), only)).prepared,
  )
  const withGivenKeys = (data: ServiceData): ServiceData => {
    const keys = Object.entries(data.keys)
    const given = keys.filter(([, key]) => !unsaved.includes(key))
    const missing = keys.filter(([, key]) => unsaved.includes(key))
    const missingKeys = missing.map(([setting]) => setting)
    return { ...data, keys: Object.fromEntries(given), missingKeys }
  }
  return { prepared, withGivenKeys }
}

const ANSWER_MS = 1_000

/**
 * For a restore. A folder of files has no lock, so ask each service over HTTP whether it is running. A data folder that
 * the operator named and that has no data yet cannot be the one in use.
 */
export async function dataOfStopped(
  env: Env,
  names: string[],
  { isNamed }: { isNamed: boolean },
): Promise<ServiceData[]> {
  const { prepared, withGivenKeys } = await prepareNamed(env, names)
  const isRunning = async (one: Prepared) =>
    (!isNamed || (await hasData(one.service.data))) && isAnswering(one)
  const answers = await Promise.all(prepared.map(isRunning))
  const running = prepared.filter((_, index) => answers[index]).map(({ entry }) => entry.name)
  if (running.length > 0)
    throw new StartError(`Running here: ${running.join(', ')}. Stop what runs, and try again.`)
  return prepared.map(({ service }) => withGivenKeys(service.data))
}

async function isAnswering({ service: { config } }: Prepared): Promise<boolean> {
  if (config.port === 0) return false
  const url = `${hostUrl(config.host, config.port)}/actuator/health`
  const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined)
  await reply?.body?.cancel()
  return reply !== undefined
}

/**
 * The services of these settings with all their data below `folder`. They make no outgoing calls and deliver
 * nothing: that is up to the services in use.
 */
export async function scratchIn(env: Env, folder: string, names: string[]): Promise<Scratch> {
  const { prepared, withGivenKeys } = await prepareNamed(env, names)
  const scratch = prepared.map(({ entry, service }) => ({ entry, ...service.inScratch(folder) }))
  return {
    services: scratch.map(({ data }) => withGivenKeys(data)),
    start: async () => {
      // An outside service keeps its own data, so what stands in for one is not verified.
      const started = scratch.filter(({ entry }) => !entry.standsIn)
      for (const { entry, config, create } of started) {
        const server = await create()
        try {
          await requireHealthy(entry.name, await listen(server, config))
        } finally {
          await closeGracefully(server, 0)
        }
      }
    },
  }
}

async function requireHealthy(name: string, url: string): Promise<void> {
  const reply = await fetch(`${url}/actuator/health`, { signal: AbortSignal.timeout(30_000) })
  await reply.body?.cancel()
  if (!reply.ok) throw new StartError(`${name} starts on the restored data, but is not healthy.`)
}
