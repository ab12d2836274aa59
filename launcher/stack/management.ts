/** The listener for operators: metrics of everything in this process, apart from the public ports. */
import { timingSafeEqual } from 'node:crypto'
import {
  actuatorRoutes,
  callerGuard,
  createLogger,
  createServer,
  EXPOSITION_TYPE,
  exposition,
  type Family,
  type Guard,
  hashOpaqueToken,
  labelled,
  listen,
  merged,
  type Server,
  systemClock,
  VERSION,
  watchProcess,
} from '@plinth/kit'
import type { ManagementConfig } from '../config.ts'

export type ReadMetrics = () => Promise<Family[]>

type Measured = { name: string; server: Server }

/** Reads the metrics of all services of this process, and of the process itself. */
export function metricsOf(services: Measured[]): ReadMetrics {
  const process = watchProcess(VERSION)
  return async () => {
    const own = services.map(async ({ name, server }) =>
      labelled(await server.metrics.read(), { service: name }),
    )
    const families = await Promise.all([process.read(), ...own])
    return merged(families.flat())
  }
}

/** Serves the metrics; nothing without a port in the settings. */
export async function startManagement(
  config: ManagementConfig | undefined,
  read: () => ReadMetrics,
): Promise<Server | undefined> {
  if (!config) return undefined
  const log = createLogger('management', config.logLevel)
  const server = createServer({ ...config, log, clock: systemClock })
  const metrics = read()
  server.get('/actuator/prometheus', {
    onRequest: config.token === undefined ? [] : [bearerOf(config.token)],
    handler: async (_request, reply) =>
      reply.header('content-type', EXPOSITION_TYPE).send(exposition(await metrics())),
  })
  actuatorRoutes(server, { name: 'management', version: VERSION, healthy: async () => true })
  await listen(server, config)
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
