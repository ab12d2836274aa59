import type { Reply, Request, Server } from '../framework.ts'

/** The bucket bounds of OpenTelemetry's conventions, in seconds. */
const BOUNDS = [0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1, 2.5, 5, 7.5, 10]

const METHODS = new Set(['GET', 'HEAD', 'POST', 'PUT', 'PATCH', 'DELETE', 'OPTIONS'])

/** Records how long requests of one route and method took, by status. */
type Timings = Map<number, (seconds: number) => void>

/**
 * Times every request by its route, never by its path: clients can invent any number of paths.
 * A request counts when its response closes, so one that the client aborted counts, too.
 * This runs for every request, so each route keeps its series instead of looking them up.
 */
export function measureRequests(
  server: Server,
  onEnd: (request: Request, reply: Reply) => void,
): void {
  const { metrics } = server
  const observe = metrics.histogram({
    name: 'http_server_request_duration_seconds',
    help: 'How long requests took, by method, route and status.',
    labels: ['http_request_method', 'http_route', 'http_response_status_code'],
    bounds: BOUNDS,
    beyondCap: 'http_route',
  })
  let active = 0
  metrics.gauge(
    { name: 'http_server_active_requests', help: 'Requests that are being served.' },
    () => active,
  )
  const labelsOf = (request: Request, status: number) => ({
    http_request_method: METHODS.has(request.method) ? request.method : '_OTHER',
    http_route: routeTemplate(request.routeOptions.url),
    http_response_status_code: String(status),
  })
  const seriesOf = (request: Request, status: number) => {
    const series = observe.of(labelsOf(request, status))
    request.timings?.set(status, series)
    return series
  }
  server.decorateRequest('timings', undefined)
  server.decorateRequest('refusal', undefined)
  server.addHook('onRoute', (route) => {
    if (typeof route.method !== 'string') return
    const timings: Timings = new Map()
    const onRequest = (request: Request, _reply: Reply, done: () => void) => {
      request.timings = timings
      done()
    }
    route.onRequest = [onRequest, ...[route.onRequest ?? []].flat()]
  })
  server.addHook('onRequest', (request, reply, done) => {
    active += 1
    reply.raw.on('close', () => {
      active -= 1
      const status = statusOf(reply)
      const series = request.timings?.get(status) ?? seriesOf(request, status)
      series(reply.elapsedTime / 1000)
      onEnd(request, reply)
    })
    done()
  })
}

/** The client disconnected before it got an answer; not in the standard, but known from nginx. */
const CLIENT_LEFT = 499

export function statusOf({ raw }: Reply): number {
  return raw.headersSent ? raw.statusCode : CLIENT_LEFT
}

declare module 'fastify' {
  interface FastifyRequest {
    /** Unset if the request was refused before it reached its route. */
    timings: Timings | undefined
    /** The code of the problem that it was answered with, if any. */
    refusal: string | undefined
  }
}

type CountedRoutes<L extends string> = Record<`${string} /${string}`, Record<L, string>>

const RESULTS = ['accepted', 'refused', 'limited', 'failed'] as const

export type Result = (typeof RESULTS)[number]

/**
 * Counts the replies of some routes by result: `accepted`, `refused` for a client error or a client that
 * disconnected, `limited` for 429, `failed` for a server error. `resultsByCode` gives some problem codes
 * a result of their own. Call it before the routes are added. Returns what counts a result that is not that of a reply
 * of these routes.
 */
export function countReplies<const L extends string = never>(
  server: Server,
  about: { name: string; help: string; resultsByCode?: Record<string, string> },
  routes: CountedRoutes<L>,
): (result: Result, labels: Record<L, string>) => void {
  const { resultsByCode = {}, ...described } = about
  const results = [...RESULTS, ...Object.values(resultsByCode)]
  const labels = Object.keys(Object.values(routes)[0] ?? {}) as L[]
  const count = server.metrics.counter<L | 'result'>({
    ...described,
    labels: [...labels, 'result'],
  })
  server.addHook('onRoute', (route) => {
    const own = routes[`${route.method} ${route.url}` as keyof typeof routes]
    if (!own) return
    const labelsOf = (result: string) => ({ ...own, result }) as Record<L | 'result', string>
    for (const result of results) count(labelsOf(result), 0)
    const countEnd = (request: Request, reply: Reply) =>
      count(labelsOf(resultsByCode[request.refusal ?? ''] ?? resultOf(statusOf(reply))))
    const onResponse = (request: Request, reply: Reply, done: () => void) => {
      countEnd(request, reply)
      done()
    }
    // If the client disconnects first, the reply never finishes and `onResponse` does not run.
    const onRequest = (request: Request, reply: Reply, done: () => void) => {
      reply.raw.once('close', () => reply.raw.writableFinished || countEnd(request, reply))
      done()
    }
    route.onResponse = [onResponse, ...[route.onResponse ?? []].flat()]
    route.onRequest = [onRequest, ...[route.onRequest ?? []].flat()]
  })
  return (result, own) => count({ ...own, result } as Record<L | 'result', string>)
}

export function resultOf(status: number): Result {
  if (status < 400) return 'accepted'
  if (status === 429) return 'limited'
  return status < 500 ? 'refused' : 'failed'
}

const templates = new Map<string, string>()

/** `/api/users/:id` as `/api/users/{id}`, which is how OpenAPI and OpenTelemetry write it. */
export function routeTemplate(url: string | undefined): string | undefined {
  if (url === undefined) return undefined
  const known = templates.get(url)
  if (known) return known
  const template = url.replaceAll(/:(\w+)(\([^)]*\))?/g, '{$1}')
  templates.set(url, template)
  return template
}
