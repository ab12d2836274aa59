import { type FastifySchema, fastify, LogController } from 'fastify'
import type { Logger } from '../logging.ts'
import { Metrics } from '../metrics/metrics.ts'
import type { Clock } from '../runtime/clock.ts'
import type { TracingSettings } from '../tracing/otlp.ts'
import type { Tracer } from '../tracing/trace-context.ts'
import { createTracer } from '../tracing/tracer.ts'
import {
  baseUrls,
  firstSegment,
  type RewriteUrl,
  removeBasePath,
  type TargetRewriting,
} from './address/base-path.ts'

import type { PageFacts, SchemaTypes, Server } from './framework.ts'
import {
  type ConnectionLimits,
  checkHosts,
  type HostOptions,
  limitConnections,
} from './hooks/admission.ts'
import { DEFAULT_BODY_BYTES } from './hooks/bodies/before-bodies.ts'
import { limitBodyTime } from './hooks/bodies/deadlines.ts'
import { refuseEncodedBodies } from './hooks/bodies/encoding.ts'
import { inviteBodies } from './hooks/bodies/expect.ts'
import { parseJsonBodies } from './hooks/bodies/json.ts'
import { guardLateBodies } from './hooks/bodies/late-guards.ts'
import { takeBodiesInTurns } from './hooks/bodies/turns.ts'
import { measureRequests } from './hooks/measure.ts'
import { keepRecent } from './hooks/recent.ts'
import {
  answerAsDeclared,
  answerUnknownRoutes,
  logRequest,
  logsRequests,
  replyHeaders,
  requestId,
  type SharedHeaders,
  sendReplyHeaders,
  shareWithOrigins,
} from './hooks/replies.ts'
import { traceRequests } from './hooks/trace.ts'
import {
  answerBrokenRequests,
  answerProblem,
  type BrokenRequestRenderer,
  handleProblems,
  type ProblemRenderer,
} from './problem-handler.ts'
import { compilersFactory } from './routes/compiled-schemas.ts'
import { doctorRoute } from './routes/doctor-challenge.ts'
import { filteringResponses, operationsOf } from './routes/operations.ts'
import { countsFirst, VALIDATION } from './validation.ts'

export type ServerOptions = HostOptions &
  ConnectionLimits & {
    log: Logger
    clock: Clock
    corsOrigins?: string[]
    /** What those origins may send and read besides the headers of every service. */
    corsHeaders?: SharedHeaders
    /** Where `plinth doctor` leaves its challenges. */
    dataFolder?: string
    tracing?: TracingSettings
    bodyLimitBytes?: number
    /** How long a body may take to arrive, unless it is an upload. */
    bodyDeadlineMs?: number
    renderProblem?: ProblemRenderer
    renderBrokenRequest?: BrokenRequestRenderer
    /** Maps the raw target, without the base path, to a route; `targetOf` still returns that target. */
    rewriteUrl?: RewriteUrl
  }

export function createServer(options: ServerOptions): Server {
  const ownSegments = new Set<string>()
  const server = bareServer(options, removeBasePath(options, ownSegments))
  server.decorate('draining', false)
  server.decorate('health', async () => ({ status: 'UP' as const }))
  server.decorate('clock', options.clock)
  server.decorate('metrics', metricsFor(server, options.log))
  server.decorate('publicUrl', options.publicUrl)
  server.decorate('baseUrlOf', baseUrls(options))
  server.decorate('announcements', [])
  server.decorate('resourceMetadata', undefined)
  decoratePageFacts(server)
  server.decorate('operations', [])
  server.decorate('api', undefined)
  server.addHook('onRoute', (route) => {
    ownSegments.add(firstSegment(route.url))
    answerAsDeclared(route)
    server.operations.push(...operationsOf(route))
    if (route.schema) route.schema = schemaForFramework(route.schema)
  })
  const [remember, isLogged] = [keepRecent(server), logsRequests(server)]
  measureRequests(server, (request, reply) => {
    remember(request, reply)
    if (isLogged) logRequest(request, reply)
  })
  server.decorate('tracer', tracerFor(server, options))
  traceRequests(server, options.trustedProxies)
  parseJsonBodies(server)
  limitBodyTime(server, options.bodyDeadlineMs)
  guardLateBodies(server)
  takeBodiesInTurns(server)
  sendReplyHeaders(server, replyHeaders(options))
  checkHosts(server, options)
  limitConnections(server, options)
  shareWithOrigins(server, options.corsOrigins ?? [], options.corsHeaders)
  handleProblems(server, options.renderProblem)
  answerUnknownRoutes(server)
  refuseEncodedBodies(server)
  inviteBodies(server)
  const { dataFolder, log } = options
  server.onClose(() => log.outages.close())
  if (dataFolder !== undefined) doctorRoute(server, String(log.bindings().name), dataFolder)
  return server
}

/** Longer than the pause between two readings, of which each would otherwise be an outage of its own. */
const METRICS_QUIET_MS = 5 * 60_000

/** A fault of the database fails many readings, which are logged as one outage. */
function metricsFor(server: Server, { outages }: Logger): Metrics {
  return new Metrics((metric, err) => {
    const message = 'a metric could not be read'
    // Operators watch the shutdown, and the database closes before they stop reading.
    if (server.draining) return
    const details = { metric }
    outages.failed({ state: 'metrics', message, err, details, quietMs: METRICS_QUIET_MS })
  })
}

function decoratePageFacts(server: Server): void {
  const told: PageFacts[] = []
  server.decorate('tellPages', (facts: PageFacts) => void told.push(facts))
  server.decorate('pageFacts', (request) =>
    Object.assign({}, ...told.map((factsFor) => factsFor(request))),
  )
}

function tracerFor(server: Server, { tracing, log }: ServerOptions): Tracer | undefined {
  if (!tracing) return undefined
  const tracer = createTracer(tracing, String(log.bindings().name), server.metrics)
  server.onClose(() => tracer.close())
  return tracer
}

function schemaForFramework({ body, response, ...rest }: FastifySchema): FastifySchema {
  return {
    ...rest,
    ...(body !== undefined && { body: countsFirst(body) }),
    ...(response !== undefined && { response: filteringResponses(response) }),
  }
}

const HEADERS_TIMEOUT_MS = 15_000

const KEEP_ALIVE_MS = 65_000

function bareServer(options: ServerOptions, rewriteUrl: TargetRewriting): Server {
  const headersFor = replyHeaders(options)
  const server = fastify({
    loggerInstance: childless(options.log),
    logController: new LogController({ disableRequestLogging: true }),
    genReqId: (request) => requestId(request.headers['x-request-id']),
    bodyLimit: options.bodyLimitBytes ?? DEFAULT_BODY_BYTES,
    trustProxy: options.trustedProxies?.length ? options.trustedProxies : false,
    rewriteUrl,
    routerOptions: { maxParamLength: 16_384 },
    forceCloseConnections: 'idle',
    // A request that arrives on an open connection while we close is served, and ends the connection.
    return503OnClosing: false,
    // The framework gives `preClose` hooks ten seconds; a request in flight may take longer. closeGracefully sets the limit.
    pluginTimeout: 0,
    keepAliveTimeout: KEEP_ALIVE_MS,
    // A deadline for the whole request would cut off slow, honest uploads; headers and JSON bodies have their own.
    requestTimeout: 0,
    http: {
      headersTimeout: HEADERS_TIMEOUT_MS,
      connectionsCheckingInterval: 5_000,
      // Node would answer by itself, without our headers; see checkHosts.
      requireHostHeader: false,
      // No stream for a missing body; parseJsonBodies handles the parsers that would wait for its end.
      optimizeEmptyRequests: true,
    },
    clientErrorHandler: answerBrokenRequests(options.log, headersFor, options.renderBrokenRequest),
    // A target that cannot be decoded has no route, and runs no hooks.
    frameworkErrors: (error, request, reply) => {
      reply.headers(headersFor(request.id))
      answerProblem(error, request, reply, options.renderProblem)
      logRequest(request, reply)
    },
    ajv: { customOptions: VALIDATION },
    schemaController: { compilersFactory },
  })
  // Node would refuse an unknown `Expect` by itself; RFC 9110 allows a server to ignore it.
  server.server.on('checkExpectation', (request, response) => {
    server.server.emit('request', request, response)
  })
  return server.withTypeProvider<SchemaTypes>()
}

/** Avoids a child logger per request, which costs more than a line; lines include their request id anyway. */
function childless(log: Logger): Logger {
  const logger = Object.create(log) as Logger
  return Object.assign(logger, { child: () => logger })
}
