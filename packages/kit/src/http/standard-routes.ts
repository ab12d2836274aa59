import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { Problem } from '../problems.ts'
import { JWKS_MAX_AGE_SECONDS, type SigningKeys } from '../tokens/signing-keys.ts'
import { basePathOf } from './address/base-path.ts'
import type { Reply, Request, Server } from './framework.ts'

type ActuatorOptions = {
  name: string
  version: string
  healthy: HealthCheck
  /** False leaves only `/actuator/health`. */
  discovery?: boolean
}

export function actuatorRoutes(server: Server, options: ActuatorOptions): void {
  const health = healthProbe(options.healthy)
  server.get('/actuator/health', async (_request, reply) => report(reply, await health()))
  if (options.discovery === false) return

  server.get('/actuator', (request) => ({ _links: links(server.baseUrlOf(request)) }))
  server.get('/actuator/info', () => ({ app: { name: options.name, version: options.version } }))
  server.get('/actuator/health/liveness', (_request, reply) => report(reply, { status: 'UP' }))
  server.get('/actuator/health/readiness', async (_request, reply) =>
    report(reply, server.draining ? DRAINING : await health()),
  )
}

const DRAINING: Health = { status: 'DOWN', reason: 'The service is stopping.' }

function report(reply: Reply, health: Health): Reply {
  if (health.status === 'UP') return reply.send(health)
  return reply.code(503).header('retry-after', '5').send(health)
}

/** Uses what the service depends on, writing included. False or a throw means that it cannot. */
type HealthCheck = () => Promise<boolean>

type Health = { status: 'UP' | 'DOWN'; reason?: string }

const FRESH_MS = 1_000
const ANSWER_MS = 800
const TRUSTED_MS = 10_000
const TOO_SLOW: Health = { status: 'DOWN', reason: 'A dependency did not answer in time.' }

/**
 * Checks at most once a second, however often it is asked, and answers in time: a dependency that is
 * slow under load counts as it was when it last answered, one that hangs is down after ten seconds.
 */
function healthProbe(check: HealthCheck): () => Promise<Health> {
  let last: { at: number; health: Health } | undefined
  let checking: Promise<Health> | undefined

  const checkNow = async (): Promise<Health> => {
    const health = await healthBy(check)
    last = { at: performance.now(), health }
    checking = undefined
    return health
  }
  const lastKnown = (ms: number) =>
    last && performance.now() - last.at < ms ? last.health : undefined

  return async () => {
    const fresh = lastKnown(FRESH_MS)
    if (fresh) return fresh
    checking ??= checkNow()
    const { promise: late, resolve } = Promise.withResolvers<Health>()
    const timer = setTimeout(() => resolve(lastKnown(TRUSTED_MS) ?? TOO_SLOW), ANSWER_MS)
    try {
      return await Promise.race([checking, late])
    } finally {
      clearTimeout(timer)
    }
  }
}

/** The reason is said only where it was put into words for a caller: anything else may hold secrets. */
async function healthBy(check: HealthCheck): Promise<Health> {
  try {
    return { status: (await check()) ? 'UP' : 'DOWN' }
  } catch (error) {
    return { status: 'DOWN', ...(error instanceof Problem && { reason: error.message }) }
  }
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

const MEDIA_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  "connect-src 'self'",
  "font-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** The headers of a page of ours: only its own scripts and styles, no framing, no inline code. */
export function pageHeaders(overrides: Record<string, string> = {}): Record<string, string> {
  return {
    'content-security-policy': POLICY.join('; '),
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
    'cache-control': 'no-cache',
    ...overrides,
  }
}

type Page = { bytes: Buffer; type: string; etag: string }

/** Serves a built console at `/api-test`; small enough to be kept in memory. */
export function consoleRoutes(server: Server, folder: string, path = '/api-test'): void {
  if (path !== '')
    server.get(path, (request, reply) =>
      reply.redirect(`${basePathOf(request)}${path}/index.html`, 302),
    )
  for (const [name, page] of readPages(folder)) {
    const send = (request: Request, reply: Reply) => sendPage(page, request, reply)
    server.get(`${path}/${name}`, send)
    if (name === 'index.html') server.get(`${path}/`, atFolder(send))
  }
}

/** A page at the base path itself, without the slash, would look for its assets beside it. */
function atFolder(send: (request: Request, reply: Reply) => Reply) {
  return (request: Request, reply: Reply) => {
    const basePath = basePathOf(request)
    const isFolder = basePath === '' || request.originalUrl.split('?', 1)[0] !== basePath
    return isFolder ? send(request, reply) : reply.redirect(`${basePath}/`, 302)
  }
}

function sendPage(page: Page, request: Request, reply: Reply): Reply {
  reply.headers(pageHeaders({ etag: page.etag }))
  if (request.headers['if-none-match'] === page.etag) return reply.code(304).send()
  return reply.header('content-type', page.type).send(page.bytes)
}

const NOT_BUILT = `<!doctype html><html lang="en"><title>Console</title>
<p>The console has not been built. Run <code>npm run prepare</code> and start again.</p></html>`

function readPages(folder: string): Map<string, Page> {
  if (!existsSync(folder)) return new Map([['index.html', pageOf('.html', Buffer.from(NOT_BUILT))]])
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    names.map(({ name }) => [name, pageOf(extname(name), readFileSync(join(folder, name)))]),
  )
}

function pageOf(extension: string, bytes: Buffer): Page {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return { bytes, type: MEDIA_TYPES[extension] ?? 'application/octet-stream', etag }
}

/** Publishes the public keys, so that others can check this service's tokens by themselves. */
export function jwksRoutes(server: Server, keys: SigningKeys): void {
  server.get('/.well-known/jwks.json', async (_request, reply) => {
    reply.header('cache-control', `public, max-age=${JWKS_MAX_AGE_SECONDS}`)
    return { keys: await keys.published() }
  })
}
