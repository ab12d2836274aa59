import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { basePathOf } from '../address/base-path.ts'
import { policySource } from '../address/policy-source.ts'
import type { Reply, Request, Server } from '../framework.ts'
import { listsTag, weakly } from './entity-tags.ts'
import { bareReply } from './operations.ts'

type Page = { bytes: Buffer; type: string; etag: string }

const PAGE = { hide: true }

type About = {
  operationId: string
  summary: string
  /** Not cached by the browser, because it shows data about one person. */
  personal?: boolean
  /** More names of the first page, such as `sign-in`; its script decides what to show there. */
  alsoAt?: string[]
  /** The issuer whose accounts the page accepts: it may call that, too. */
  signsInAt?: string | undefined
}

const CONSOLE = { operationId: 'console', summary: 'The console, a page for browsers' }

/** Serves a built console at `/api-test`; small enough to be kept in memory. */
export function consoleRoutes(
  server: Server,
  folder: string,
  path = '/api-test',
  { personal = false, alsoAt = [], signsInAt, ...about }: Partial<About> = {},
): void {
  const response = { 302: bareReply({ headers: ['Location'], description: 'Where the page is' }) }
  const schema = { ...CONSOLE, ...about, tags: ['Operations'], response }
  if (path !== '')
    server.get(path, { schema }, (request, reply) =>
      reply.redirect(`${basePathOf(request)}${path}/index.html`, 302),
    )
  if (path !== '')
    server.get(`${path}/facts.json`, { schema: PAGE }, async (request) => ({
      suite: null,
      ...server.pageFacts(request),
    }))
  const pages = pagesIn(folder)
  for (const [name, page] of pages) {
    const caching: Headers = personal ? { 'cache-control': 'no-store' } : { etag: page.etag }
    const headers = pageHeaders({ 'content-security-policy': policyFor(signsInAt), ...caching })
    const send = (request: Request, reply: Reply) => sendPage(page, headers, request, reply)
    server.get(`${path}/${name}`, { schema: PAGE }, send)
    if (name !== 'index.html') continue
    server.get(`${path}/`, { schema: PAGE }, atFolder(send))
    for (const other of alsoAt) server.get(`${path}/${other}`, { schema: PAGE }, send)
  }
}

/** At the base path itself, without a trailing slash, a page would look for its assets one level too high. */
function atFolder(send: (request: Request, reply: Reply) => Reply) {
  return (request: Request, reply: Reply) => {
    const basePath = basePathOf(request)
    const isFolder = basePath === '' || request.originalUrl.split('?', 1)[0] !== basePath
    return isFolder ? send(request, reply) : reply.redirect(`${basePath}/`, 302)
  }
}

type Headers = Record<string, string>

function sendPage(page: Page, headers: Headers, request: Request, reply: Reply): Reply {
  reply.headers(headers)
  const known = request.headers['if-none-match'] ?? ''
  if (headers.etag && listsTag(known, headers.etag, weakly)) return reply.code(304).send()
  return reply.header('content-type', page.type).send(page.bytes)
}

const NOT_BUILT = `<!doctype html><html lang="en"><title>Console</title>
<p>The console has not been built. Run <code>npm run prepare</code> and start again.</p></html>`

/** By folder, because all services of a process have the reference. */
const read = new Map<string, Map<string, Page>>()

function pagesIn(folder: string): Map<string, Page> {
  const known = read.get(folder)
  if (known) return known
  if (!existsSync(folder)) return new Map([['index.html', pageOf('.html', Buffer.from(NOT_BUILT))]])
  const pages = readPages(folder)
  read.set(folder, pages)
  return pages
}

function readPages(folder: string): Map<string, Page> {
  const names = readdirSync(folder, { withFileTypes: true }).filter((entry) => entry.isFile())
  return new Map(
    names.map(({ name }) => [name, pageOf(extname(name), readFileSync(join(folder, name)))]),
  )
}

const MEDIA_TYPES: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.png': 'image/png',
}

function pageOf(extension: string, bytes: Buffer): Page {
  const etag = `"${createHash('sha256').update(bytes).digest('base64url')}"`
  return { bytes, type: MEDIA_TYPES[extension] ?? 'application/octet-stream', etag }
}

function policyFor(issuer: string | undefined): string {
  const calls = issuer ? `${OWN_CALLS} ${policySource(issuer)}` : OWN_CALLS
  return POLICY.map((rule) => (rule === OWN_CALLS ? calls : rule)).join('; ')
}

const OWN_CALLS = "connect-src 'self'"

const POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' blob: data:",
  "media-src 'self' blob:",
  OWN_CALLS,
  "font-src 'self'",
  // Content that a page created itself, which inherits the policy of the page.
  'frame-src blob:',
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
]

/** The headers of our pages: only their own scripts and styles, no framing, no inline code. */
function pageHeaders(overrides: Headers): Headers {
  return {
    'cross-origin-opener-policy': 'same-origin',
    'permissions-policy': 'publickey-credentials-get=(self), publickey-credentials-create=(self)',
    'cache-control': 'no-cache',
    ...overrides,
  }
}
