/** What operators ask of everything in this process: metrics and health, apart from the public ports. */
import { Worker } from 'node:worker_threads'
import {
  createLogger,
  exposition,
  type Health,
  labelled,
  merged,
  type Server,
  StartError,
  systemClock,
  VERSION,
  watchProcess,
} from '@plinth/kit'
import type { ManagementConfig } from '../config.ts'
import { type History, keepHistory, type Point, type ReadMetrics } from './health/history.ts'

/** What the listener shows. */
export type Watched = {
  metrics: ReadMetrics
  readiness(): Promise<Health>
  /** Of these metrics, unless there is one already. */
  history?: History
}

type Measured = { name: string; server: Server }

export function watch(services: Measured[], history?: History): Watched {
  return { metrics: metricsOf(services), readiness: () => readinessOf(services), history }
}

/** Reads the metrics of all services of this process, and of the process itself. */
export function metricsOf(services: Measured[]): ReadMetrics {
  const process = watchProcess(VERSION)
  const ofServices = serviceMetricsOf(services)
  return async () => merged((await Promise.all([process.read(), ofServices()])).flat())
}

/** Without those of the process, whose event loop is watched only for who asks for it. */
export function serviceMetricsOf(services: Measured[]): ReadMetrics {
  return async () => {
    const each = services.map(async ({ name, server }) =>
      labelled(await server.metrics.read(), { service: name }),
    )
    return merged((await Promise.all(each)).flat())
  }
}

/** Up when all of them are. */
async function readinessOf(services: Measured[]): Promise<Health> {
  const all = services.map(async ({ name, server }) => ({ name, ...(await server.readiness()) }))
  const down = (await Promise.all(all)).find(({ status }) => status === 'DOWN')
  if (!down) return { status: 'UP' }
  const { name, reason = 'It cannot use what it depends on.' } = down
  return { status: 'DOWN', reason: `${name}: ${reason}` }
}

/** What the thread of the listener asks of this one. */
export type Vitals = {
  metrics(): Promise<string>
  history(): Promise<Point[]>
  readiness(): Promise<Health>
  liveness(): Promise<boolean>
}

export type Question = { id: number; about: keyof Vitals }

export type Answer = { id: number; value?: unknown; failed?: string }

/** Starts the listener, in a thread of its own; none without a port in the settings. */
export async function startManagement(
  config: ManagementConfig | undefined,
  watched: () => Watched,
): Promise<{ close(): Promise<void> } | undefined> {
  if (!config) return undefined
  const log = createLogger('management', config.logLevel)
  const { metrics, readiness, history = keepHistory(metrics, systemClock) } = watched()
  const vitals: Vitals = {
    metrics: async () => exposition(await metrics()),
    history: history.points,
    readiness,
    liveness: async () => true,
  }
  const thread = new Worker(new URL('./management-thread.ts', import.meta.url), {
    workerData: config,
  })
  const answer = async ({ id, about }: Question): Promise<Answer> => {
    try {
      return { id, value: await vitals[about]() }
    } catch (error) {
      log.error({ err: error }, `${about} could not be read`)
      return { id, failed: `${about} could not be read` }
    }
  }
  const { promise: listens, resolve, reject } = Promise.withResolvers<void>()
  thread.on('message', async (message: 'listening' | { refused: string } | Question) => {
    if (message === 'listening') resolve()
    else if ('refused' in message) reject(new StartError(message.refused))
    else thread.postMessage(await answer(message))
  })
  thread.on('error', (error) => {
    log.error({ err: error }, 'the listener for operators has ended')
    reject(error)
  })
  const close = async () => {
    history.stop()
    await thread.terminate()
  }
  await listens.catch(async (error) => {
    await close()
    throw error
  })
  return { close }
}
