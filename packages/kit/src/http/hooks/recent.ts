import type { Reply, Request, Server } from '../framework.ts'
import { routeTemplate, statusOf } from './measure.ts'

/** A request as an operator sees it afterwards: its route and never its path, query, headers or body. */
export type RecentRequest = {
  /** When it ended, in Unix milliseconds. */
  at: number
  method: string
  /** Undefined if no route matched. */
  route: string | undefined
  status: number
  milliseconds: number
  /** The name of the caller; undefined if the route identifies none. */
  who: string | undefined
  requestId: string
}

const MAX_RECENT = 200
/** Of requests that are announced and have not ended. One that never arrives stays until then. */
const MAX_ANNOUNCED = 100
const PROBES = /^\/actuator(\/|$)/

/** Keeps the last requests in memory, oldest first. */
export function keepRecent(server: Server): (request: Request, reply: Reply) => void {
  const ring: RecentRequest[] = []
  const leftOut = new Set<string>()
  server.decorate('recentRequests', () => [...ring])
  server.decorate('leaveOutOfRecent', (requestId) => {
    leftOut.add(requestId)
    const [oldest] = leftOut
    if (leftOut.size > MAX_ANNOUNCED && oldest !== undefined) leftOut.delete(oldest)
  })
  return (request, reply) => {
    const route = routeTemplate(request.routeOptions.url)
    if (leftOut.delete(request.id) || (route !== undefined && PROBES.test(route))) return
    ring.push({
      at: server.clock().getTime(),
      method: request.method,
      route,
      status: statusOf(reply),
      milliseconds: Math.round(reply.elapsedTime),
      who: nameOf(request),
      requestId: request.id,
    })
    if (ring.length > MAX_RECENT) ring.shift()
  }
}

/** A guard sets the caller; without one there is none. */
function nameOf(request: Request): string | undefined {
  return Object.hasOwn(request, 'caller') ? request.caller.username : undefined
}

declare module 'fastify' {
  interface FastifyInstance {
    /** The last requests that this process answered, oldest first, without probes. */
    recentRequests(): RecentRequest[]
    /** The request with this id, which is yet to come, is not to be among them. */
    leaveOutOfRecent(requestId: string): void
  }
}
