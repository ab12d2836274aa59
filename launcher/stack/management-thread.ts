/**
 * The listener for operators. It has a thread of its own, so that health is answered while the services
 * are busy; what it says, it asks of the thread that they run in.
 */
import { timingSafeEqual } from 'node:crypto'
import { type MessagePort, parentPort, workerData } from 'node:worker_threads'
import {
  actuatorRoutes,
  callerGuard,
  createLogger,
  createServer,
  EXPOSITION_TYPE,
  type Guard,
  hashOpaqueToken,
  listen,
  type Server,
  StartError,
  systemClock,
  VERSION,
} from '@plinth/kit'
import { backupHealthRoute } from '../backups/health.ts'
import type { ManagementConfig } from '../config.ts'
import { healthRoutes } from './health/health.routes.ts'
import type { Answer, Question, Vitals } from './management.ts'

const port = parentPort as MessagePort
const config: ManagementConfig = workerData
const waiting = new Map<number, PromiseWithResolvers<never>>()
let asked = 0

function ask<Q extends keyof Vitals>(about: Q): ReturnType<Vitals[Q]> {
  asked += 1
  const answer = Promise.withResolvers<never>()
  waiting.set(asked, answer)
  port.postMessage({ id: asked, about } satisfies Question)
  return answer.promise as unknown as ReturnType<Vitals[Q]>
}

port.on('message', ({ id, value, failed }: Answer) => {
  const answer = waiting.get(id)
  waiting.delete(id)
  if (failed === undefined) answer?.resolve(value as never)
  else answer?.reject(new Error(failed))
})

const server = operatorServer()
try {
  await listen(server, config)
  port.postMessage('listening')
} catch (error) {
  if (!(error instanceof StartError)) throw error
  port.postMessage({ refused: error.message })
}

function operatorServer(): Server {
  const log = createLogger('management', config.logLevel)
  const server = createServer({ ...config, log, clock: systemClock })
  const guards = config.token === undefined ? [] : [bearerOf(config.token)]
  server.get('/actuator/prometheus', {
    onRequest: guards,
    handler: async (_request, reply) =>
      reply.header('content-type', EXPOSITION_TYPE).send(await ask('metrics')),
  })
  healthRoutes(server, () => ask('history'), guards)
  backupHealthRoute(server, config.backups, guards)
  actuatorRoutes(server, {
    name: 'management',
    version: VERSION,
    healthy: () => ask('readiness'),
    ready: () => ask('readiness'),
    alive: () => ask('liveness'),
  })
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
