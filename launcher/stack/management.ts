/** What operators ask of everything in this process: metrics and health, apart from the public ports. */
import { timingSafeEqual } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import {
  actuatorRoutes,
  addressesOf,
  callerGuard,
  cannotListen,
  createLogger,
  createServer,
  EXPOSITION_TYPE,
  exposition,
  type Family,
  type Guard,
  type Health,
  hashOpaqueToken,
  hostUrl,
  type Logger,
  labelled,
  listen,
  merged,
  type Server,
  systemClock,
  VERSION,
  watchProcess,
} from '@plinth/kit'
import { backupHealthRoute } from '../backups/health.ts'
import type { ManagementConfig } from '../config.ts'
import { healthRoutes } from './health/health.routes.ts'
import { type History, keepHistory, type ReadMetrics } from './health/history.ts'

/** What the listener shows. */
export type Watched = {
  metrics: ReadMetrics
  readiness(): Promise<Health>
  /** Of these metrics, unless there is one already. */
  history?: History
}

export type Measured = { name: string; server: Server }

export function watch(services: Measured[], history?: History): Watched {
  return { metrics: metricsOf(services), readiness: () => readinessOf(services), history }
}

/** Reads the metrics of all services of this process, and of the process itself. */
export function metricsOf(services: Measured[]): ReadMetrics {
  const process = watchProcess(VERSION, systemClock)
  const ofServices = serviceMetricsOf(services)
  return async () => {
    const read = [process.read(), ofServices(), readyFamily(services)]
    return merged((await Promise.all<Family | Family[]>(read)).flat())
  }
}

async function readyFamily(services: Measured[]): Promise<Family> {
  const samples = services.map(async ({ name, server }) => {
    const { status } = await server.readiness()
    return { labels: { service: name }, value: status === 'UP' ? 1 : 0 }
  })
  const help = 'Whether a service takes requests: 1 or 0.'
  return { name: 'plinth_ready', help, type: 'gauge', samples: await Promise.all(samples) }
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

/** What the thread at the port for operators must know. */
export type Front = { addresses: string[]; port: number }

/** What it says; a code is the reason why it cannot listen. */
export type FrontMessage = 'listening' | 'asks for health' | 'needs the server' | { code: string }

export type FrontReply = Health | { port: number }

/**
 * Starts the listener; none without a port in the settings. Its port has a thread of its own, which
 * answers probes and hands the rest on to a server at a port that only this machine can reach. That
 * one listens when it is first needed.
 */
export async function startManagement(
  config: ManagementConfig | undefined,
  watched: () => Watched,
): Promise<{ close(): Promise<void> } | undefined> {
  if (!config) return undefined
  const log = createLogger('management', config.logLevel)
  const { metrics, readiness, history = keepHistory(metrics, systemClock) } = watched()
  let server: Server | undefined
  const openServer = async () => {
    server = operatorServer(config, { metrics, readiness, history }, log)
    await listen(server, { host: '127.0.0.1', port: 0 })
    return (server.server.address() as AddressInfo).port
  }
  try {
    const addresses = await addressesOf(config.host)
    const front = { addresses, port: config.port }
    const thread = await startThread(front, { readiness, openServer, log })
    return {
      close: async () => {
        history.stop()
        await server?.close()
        await thread.terminate()
      },
    }
  } catch (error) {
    history.stop()
    throw cannotListen(error, config)
  }
}

type Behind = {
  readiness(): Promise<Health>
  /** Resolves to its port. */
  openServer(): Promise<number>
  log: Logger
}

/** Resolves when it listens. */
async function startThread(front: Front, { readiness, openServer, log }: Behind): Promise<Worker> {
  const cache = getCompileCacheDir()
  const thread = new Worker(new URL('./management-thread.ts', import.meta.url), {
    workerData: front,
    // It needs next to nothing: with the default sizes it takes another 4 MB.
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
    // Without it the thread loads Node's TypeScript compiler, at 17 MB.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
  })
  const { promise: listens, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: unknown) => {
    log.error({ err: error }, 'the listener for operators failed')
    reject(error)
  }
  const reply = (answer: FrontReply) => thread.postMessage(answer)
  thread.on('error', fail).on('message', (message: FrontMessage) => {
    if (message === 'asks for health') readiness().then(reply, fail)
    else if (message === 'needs the server') openServer().then((port) => reply({ port }), fail)
    else if (message === 'listening') resolve()
    else reject(message)
  })
  await listens.catch(async (error) => {
    await thread.terminate()
    throw error
  })
  return thread
}

function operatorServer(
  { host, port, token, backups }: ManagementConfig,
  { metrics, readiness, history }: Required<Watched>,
  log: Logger,
): Server {
  const publicUrl = hostUrl(host, port)
  const server = createServer({ log, clock: systemClock, host, publicUrl })
  const guards = token === undefined ? [] : [bearerOf(token)]
  server.get('/actuator/prometheus', {
    onRequest: guards,
    handler: async (_request, reply) =>
      reply.header('content-type', EXPOSITION_TYPE).send(exposition(await metrics())),
  })
  healthRoutes(server, history.points, guards)
  backupHealthRoute(server, backups, guards)
  actuatorRoutes(server, { name: 'management', version: VERSION, healthy: readiness })
  return server
}

const SCRAPER = { userId: 'metrics', username: 'metrics', roles: [], sessionId: '' }

function bearerOf(token: string): Guard {
  const expected = Buffer.from(hashOpaqueToken(token))
  const guard = callerGuard(async (given) =>
    timingSafeEqual(Buffer.from(hashOpaqueToken(given)), expected) ? SCRAPER : undefined,
  )
  return guard.caller
}
