/** Metrics and health of this process for operators, separate from the public ports. */
import { timingSafeEqual } from 'node:crypto'
import { getCompileCacheDir } from 'node:module'
import type { AddressInfo } from 'node:net'
import { dirname } from 'node:path'
import { Worker } from 'node:worker_threads'
import { VERSION } from '@plinth/kit/database'
import {
  actuatorRoutes,
  addressesOf,
  callerGuard,
  cannotListen,
  createServer,
  type Guard,
  type Health,
  listen,
  type Server,
  worst,
} from '@plinth/kit/http'
import { createLogger, type Logger } from '@plinth/kit/logging'
import {
  EXPOSITION_TYPE,
  exposition,
  type Family,
  labelled,
  merged,
  watchProcess,
} from '@plinth/kit/metrics'
import { entryBeside, hostUrl, systemClock } from '@plinth/kit/runtime'
import { hashOpaqueToken } from '@plinth/kit/tokens'
import { backupHealthRoute } from '../backups/health.ts'
import type { ManagementConfig } from '../config.ts'
import { healthRoutes } from './health/health.routes.ts'
import { type History, keepHistory, type ReadMetrics } from './health/history.ts'

/** What the listener reports. */
type Watched = {
  metrics: ReadMetrics
  health(): Promise<Health>
  /** Recorded from `metrics` if absent. */
  history?: History
}

export type Measured = { name: string; server: Server }

export function watch(services: Measured[], history?: History): Watched {
  return { metrics: metricsOf(services), health: () => healthOf(services), history }
}

/** Reads the metrics of all services in this process, and of the process itself. */
export function metricsOf(services: Measured[]): ReadMetrics {
  const process = watchProcess(VERSION, systemClock)
  const ofServices = serviceMetricsOf(services)
  return async () => {
    const read = [process.read(), ofServices(), healthFamilies(services)]
    return merged((await Promise.all<Family | Family[]>(read)).flat())
  }
}

async function healthFamilies(services: Measured[]): Promise<Family[]> {
  const all = await healthOfEach(services)
  const gauge = (name: string, help: string, holds: (status: Health['status']) => boolean) => {
    const samples = all.map((each) => ({
      labels: { service: each.name },
      value: Number(holds(each.status)),
    }))
    return { name, help, type: 'gauge' as const, samples }
  }
  return [
    gauge('plinth_ready', 'Whether a service takes requests: 1 or 0.', (is) => is !== 'DOWN'),
    gauge(
      'plinth_degraded',
      'Whether a service can read but not write: 1 or 0.',
      (is) => is === 'DEGRADED',
    ),
  ]
}

function healthOfEach(services: Measured[]): Promise<(Health & { name: string })[]> {
  return Promise.all(
    services.map(async ({ name, server }) => ({ name, ...(await server.health()) })),
  )
}

/** Without the process metrics: the event loop is monitored only where they are served. */
export function serviceMetricsOf(services: Measured[]): ReadMetrics {
  return async () => {
    const each = services.map(async ({ name, server }) =>
      labelled(await server.metrics.read(), { service: name }),
    )
    return merged((await Promise.all(each)).flat())
  }
}

/** The worst of all services. */
async function healthOf(services: Measured[]): Promise<Health> {
  const found = worst(await healthOfEach(services))
  if (!('name' in found)) return found
  const { name, status, reason = 'It cannot use what it depends on.' } = found
  return { status, reason: `${name}: ${reason}` }
}

/** Where the thread of the management port listens. */
export type Front = { addresses: string[]; port: number }

/** Messages from the thread; `code` is the error code if it cannot listen. */
export type FrontMessage = 'listening' | 'asks for health' | 'needs the server' | { code: string }

export type FrontReply = Health | { port: number }

/**
 * Starts the listener, if a port is configured. The port has its own thread, which answers probes and forwards
 * the rest to a server on a loopback port. That server starts listening when it is first needed.
 */
export async function startManagement(
  config: ManagementConfig | undefined,
  watched: () => Watched,
): Promise<{ close(): Promise<void> } | undefined> {
  if (!config) return undefined
  const log = createLogger('management', config.logLevel)
  const { metrics, health, history = keepHistory(metrics, systemClock, log) } = watched()
  let server: Server | undefined
  const openServer = async () => {
    server = operatorServer(config, { metrics, health, history }, log)
    await listen(server, { host: '127.0.0.1', port: 0 })
    return (server.server.address() as AddressInfo).port
  }
  try {
    const addresses = await addressesOf(config.host)
    const front = { addresses, port: config.port }
    const thread = await startThread(front, { health, openServer, log })
    return {
      close: async () => {
        history.stop()
        log.outages.close()
        await server?.close()
        await thread.terminate()
      },
    }
  } catch (error) {
    history.stop()
    throw cannotListen(error, config)
  }
}

type Backend = {
  health(): Promise<Health>
  /** Resolves to the port of the server. */
  openServer(): Promise<number>
  log: Logger
}

/** Resolves when the thread is listening. */
async function startThread(front: Front, { health, openServer, log }: Backend): Promise<Worker> {
  const cache = getCompileCacheDir()
  const thread = new Worker(entryBeside(import.meta, 'management-thread'), {
    workerData: front,
    // It needs very little memory: the default sizes would cost another 4 MB.
    resourceLimits: { maxYoungGenerationSizeMb: 2, maxOldGenerationSizeMb: 32 },
    // Without the cache the thread loads Node's TypeScript compiler, which costs 17 MB.
    env: cache === undefined ? {} : { NODE_COMPILE_CACHE: dirname(cache) },
  })
  const { promise: listens, resolve, reject } = Promise.withResolvers<void>()
  const fail = (error: unknown) => {
    log.error({ err: error }, 'the listener for operators failed')
    reject(error)
  }
  const reply = (answer: FrontReply) => thread.postMessage(answer)
  thread.on('error', fail).on('message', (message: FrontMessage) => {
    if (message === 'asks for health') health().then(reply, fail)
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
  { metrics, health, history }: Required<Watched>,
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
  server.get('/', (_request, reply) => reply.redirect('/health/index.html', 302))
  healthRoutes(server, history.points, guards)
  backupHealthRoute(server, backups, guards)
  actuatorRoutes(server, { name: 'management', version: VERSION, healthy: health })
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
