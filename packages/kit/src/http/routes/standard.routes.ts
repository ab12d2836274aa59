import { JWKS_MAX_AGE_SECONDS, type SigningKeys } from '../../tokens/signing-keys.ts'
import type { Health, Reply, Server } from '../framework.ts'
import { answerPreflights } from '../hooks/replies.ts'
import { Type } from '../schema.ts'
import { type HealthCheck, healthProbe, readinessOf, UP } from './health.ts'
import { replyWith } from './operations.ts'

type ActuatorOptions = {
  name: string
  version: string
  healthy: HealthCheck
  /** False leaves only `/actuator/health`. */
  discovery?: boolean
}

export function actuatorRoutes(server: Server, options: ActuatorOptions): void {
  const health = healthProbe(options.healthy)
  server.health = async () => (server.draining ? DRAINING : health())
  const probe = (operationId: string, summary: string) => ({
    schema: { operationId, summary, tags: ['Operations'], response: HEALTH_REPLIES },
  })
  const whole = probe('health', 'Whether the service works; DEGRADED: it can read but not write')
  server.get('/actuator/health', whole, async (_request, reply) => report(reply, await health()))
  if (options.discovery === false) return

  discoveryRoutes(server, options)
  const alive = probe('liveness', 'Whether the process answers')
  server.get('/actuator/health/liveness', alive, async (_request, reply) => report(reply, UP))
  const ready = probe(
    'readiness',
    'Whether the service accepts requests; false while it is stopping',
  )
  server.get('/actuator/health/readiness', ready, async (_request, reply) =>
    report(reply, readinessOf(await server.health())),
  )
}

type Component = { name: string; operationId: string; summary: string }

/** The health of an optional component, which does not affect the health of the service. */
export function componentHealthRoute(
  server: Server,
  { name, operationId, summary }: Component,
  health: () => Promise<Health>,
): void {
  server.get(`/actuator/health/${name}`, {
    schema: { operationId, summary, tags: ['Operations'], response: HEALTH_REPLIES },
    handler: async (_request, reply) => report(reply, await health()),
  })
}

function discoveryRoutes(server: Server, { name, version }: ActuatorOptions): void {
  server.get('/actuator', {
    schema: {
      operationId: 'actuator',
      summary: 'Where health and information are',
      tags: ['Operations'],
      response: { 200: LinksReply },
    },
    handler: (request) => ({ _links: links(server.baseUrlOf(request)) }),
  })
  server.get('/actuator/info', {
    schema: {
      operationId: 'serviceInfo',
      summary: 'The name and version of the service',
      tags: ['Operations'],
      response: { 200: InfoReply },
    },
    handler: () => ({ app: { name, version } }),
  })
}

const Up = Type.Object(
  {
    status: Type.Union([Type.Literal('UP'), Type.Literal('DEGRADED')]),
    reason: Type.Optional(Type.String()),
  },
  { title: 'Up' },
)

const Down = Type.Object(
  { status: Type.Literal('DOWN'), reason: Type.Optional(Type.String()) },
  { title: 'Down' },
)

const HEALTH_REPLIES = {
  200: Up,
  503: replyWith({ headers: ['Retry-After'] }, Down),
}

const Href = Type.Object({ href: Type.String(), templated: Type.Boolean() })

const LinksReply = Type.Object({
  _links: Type.Object({ self: Href, health: Href, 'health-path': Href, info: Href }),
})

const InfoReply = Type.Object({
  app: Type.Object({ name: Type.String(), version: Type.String() }),
})

const DRAINING: Health = { status: 'DOWN', reason: 'The service is stopping.' }

function report(reply: Reply, health: Health): Reply {
  if (health.status !== 'DOWN') return reply.send(health)
  return reply.code(503).header('retry-after', '5').send(health)
}

function links(baseUrl: string) {
  const base = `${baseUrl}/actuator`
  return {
    self: { href: base, templated: false },
    health: { href: `${base}/health`, templated: false },
    'health-path': { href: `${base}/health/{*path}`, templated: true },
    info: { href: `${base}/info`, templated: false },
  }
}

/**
 * RFC 9728: where to get a token for this service. A reply that refuses a token links to this document,
 * so that a client that knows only the URL of the service can find the issuer.
 */
export function protectedResourceRoutes(
  server: Server,
  { publicUrl, issuer }: { publicUrl: string; issuer: string },
): void {
  const path = '/.well-known/oauth-protected-resource'
  server.resourceMetadata = `${publicUrl}${path}`
  const metadata = {
    resource: publicUrl,
    authorization_servers: [issuer],
    bearer_methods_supported: ['header'],
  }
  answerPreflights(server, path)
  server.get(path, {
    schema: {
      operationId: 'protectedResourceMetadata',
      summary: 'Whose tokens this service accepts (RFC 9728)',
      tags: ['Operations'],
      response: { 200: replyWith({ headers: ['Cache-Control'] }, ResourceReply) },
    },
    handler: (_request, reply) => {
      reply.header('cache-control', 'public, max-age=300')
      reply.header('access-control-allow-origin', '*')
      return metadata
    },
  })
}

const ResourceReply = Type.Object(
  {
    resource: Type.String({ examples: ['https://files.example'] }),
    authorization_servers: Type.Array(Type.String({ examples: ['https://id.example'] })),
    bearer_methods_supported: Type.Array(Type.String({ examples: ['header'] })),
  },
  { title: 'ProtectedResourceMetadata' },
)

const JWKS = '/.well-known/jwks.json'

/** Publishes the public keys, so that others can verify this service's tokens by themselves. */
export function jwksRoutes(server: Server, ...sets: Pick<SigningKeys, 'published'>[]): void {
  answerPreflights(server, JWKS)
  server.get(JWKS, {
    schema: {
      operationId: 'jwks',
      summary: 'The public keys that tokens are checked with (RFC 7517)',
      tags: ['Operations'],
      response: { 200: replyWith({ headers: ['Cache-Control'] }, KeysReply) },
    },
    handler: async (_request, reply) => {
      reply.header('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
      reply.header('access-control-allow-origin', '*')
      const published = await Promise.all(sets.map((keys) => keys.published()))
      return { keys: published.flat() }
    },
  })
}

const KeysReply = Type.Object({
  keys: Type.Array(Type.Unsafe<object>(Type.Record(Type.String(), Type.String()))),
})
