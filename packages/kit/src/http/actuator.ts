import type { Reply, Request, Server } from './server.ts'

type ActuatorOptions = {
  name: string
  version: string
  healthy: () => Promise<boolean>
  /** False leaves only `/actuator/health`. */
  discovery?: boolean
}

const HEALTH_DEADLINE_MS = 2_000

export function actuatorRoutes(server: Server, options: ActuatorOptions): void {
  const health = async (_request: Request, reply: Reply) =>
    report(reply, await isUp(options.healthy))
  server.get('/actuator/health', health)
  if (options.discovery === false) return

  server.get('/actuator', (request) => ({ _links: links(request) }))
  server.get('/actuator/info', () => ({ app: { name: options.name, version: options.version } }))
  server.get('/actuator/health/liveness', (_request, reply) => report(reply, true))
  server.get('/actuator/health/readiness', async (_request, reply) =>
    report(reply, !server.draining && (await isUp(options.healthy))),
  )
}

function report(reply: Reply, up: boolean): Reply {
  return reply.code(up ? 200 : 503).send({ status: up ? 'UP' : 'DOWN' })
}

/** A dependency that hangs is down: the answer comes in time either way. */
async function isUp(healthy: () => Promise<boolean>): Promise<boolean> {
  const { promise: late, resolve } = Promise.withResolvers<boolean>()
  const timer = setTimeout(() => resolve(false), HEALTH_DEADLINE_MS)
  try {
    return await Promise.race([healthy(), late])
  } catch {
    return false
  } finally {
    clearTimeout(timer)
  }
}

function links(request: Request) {
  const base = `${request.protocol}://${request.host}/actuator`
  return {
    self: { href: base, templated: false },
    health: { href: `${base}/health`, templated: false },
    'health-path': { href: `${base}/health/{*path}`, templated: true },
    info: { href: `${base}/info`, templated: false },
  }
}
