/** What the services of these settings keep, for a backup, a restore and a move. */
import type { Scratch, ServiceData } from '@plinth/backup'
import { closeGracefully, type Env, hostUrl, listen, StartError } from '@plinth/kit'
import type { ServiceEntry } from '../services.ts'
import { type Prepared, prepareStack } from '../stack/prepare.ts'

export async function suiteData(env: Env, only?: ServiceEntry[]): Promise<ServiceData[]> {
  const { prepared } = await prepareStack(anyWorkers(env), only)
  return prepared.map(({ service }) => service.data)
}

/** How many processes serve the data makes no difference to it. */
function anyWorkers(env: Env): Env {
  return { ...env, WORKERS: undefined, WORKERS_FILE: undefined }
}

const ANSWER_MS = 1_000

/** A folder of files has no lock, so the service itself is asked. */
export async function refuseRunning(env: Env): Promise<void> {
  const { prepared } = await prepareStack(env)
  const running = await Promise.all(prepared.map(isAnswering))
  const names = prepared.filter((_, index) => running[index]).map(({ entry }) => entry.name)
  if (names.length > 0)
    throw new StartError(`Running here: ${names.join(', ')}. Stop what runs, and try again.`)
}

async function isAnswering({ service: { config } }: Prepared): Promise<boolean> {
  if (config.port === 0) return false
  const url = `${hostUrl(config.host, config.port)}/actuator/health`
  const reply = await fetch(url, { signal: AbortSignal.timeout(ANSWER_MS) }).catch(() => undefined)
  await reply?.body?.cancel()
  return reply !== undefined
}

/**
 * The services as these settings make them, with everything below `folder`. What they would call or
 * send belongs to those that are in use, so here they do neither.
 */
export async function scratchIn(env: Env, folder: string, only?: ServiceEntry[]): Promise<Scratch> {
  const { prepared } = await prepareStack(anyWorkers(env), only)
  const scratch = prepared.map(({ entry, service }) => ({ entry, ...service.inScratch(folder) }))
  return {
    services: scratch.map(({ data }) => data),
    start: async (names) => {
      // The sandbox provider has no part in the proof: it stands in for one that has its own data.
      const started = scratch.filter(
        ({ entry: { name } }) => names.includes(name) && name !== 'provider-sandbox',
      )
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
