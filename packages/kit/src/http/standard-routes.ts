import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { JWKS_MAX_AGE_SECONDS, type SigningKeys } from '../tokens/signing-keys.ts'
import { basePathOf } from './address/base-path.ts'
import type { Reply, Request, Server } from './framework.ts'

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

  server.get('/actuator', (request) => ({ _links: links(server.baseUrlOf(request)) }))
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
    if (name === 'index.html') server.get(`${path}/`, send)
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
