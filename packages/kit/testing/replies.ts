import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import type { Reply, Request, Server } from '../src/http/framework.ts'
import {
  type ApiDescription,
  type OpenApiDocument,
  openApiDocument,
} from '../src/http/routes/openapi/document.ts'
import {
  type ReplyCheck,
  replyCheckOf,
  type SentReply,
} from '../src/http/routes/openapi/reply-check.ts'
import type { Operation } from '../src/http/routes/operations.ts'
import type { ApiReply } from './api.ts'

/**
 * Compares every reply of a server with its own API document: the status and the media type must be
 * declared, and the body valid and without undeclared members. Returns a function that lists the
 * faults, to be called once the server is closed.
 */
export function checkReplies(server: Server): () => string[] {
  const faults: string[] = []
  // Checking a long list takes time, and tests measure how long other requests wait for it.
  const later: (() => void)[] = []
  const { api, operations } = server
  if (!api) return () => faults
  let check: ReplyCheck | undefined
  server.addHook('onSend', (request, reply, payload, done) => {
    const sent = replyOf(request, reply)
    const examine = (text: string | undefined) => {
      check ??= checkOf(operations, api)
      const fault = check(sent, text)
      if (fault) faults.push(fault)
    }
    if (payload instanceof Readable && isJson(reply)) {
      const chunks: Buffer[] = []
      payload.on('data', (chunk) => chunks.push(Buffer.from(chunk)))
      // A body that the client gave up is not complete.
      payload.on('end', () => later.push(() => examine(Buffer.concat(chunks).toString())))
      return done(null, payload)
    }
    examine(typeof payload === 'string' || Buffer.isBuffer(payload) ? String(payload) : undefined)
    done(null, payload)
  })
  return () => {
    for (const examine of later.splice(0)) examine()
    return faults
  }
}

function replyOf({ method, is404, routeOptions }: Request, reply: Reply): SentReply {
  return {
    method: method.toLowerCase(),
    path: is404 ? '' : (routeOptions.url ?? '').replaceAll(/:(\w+)/g, '{$1}'),
    status: reply.statusCode,
    type: typeOf(reply),
  }
}

const typeOf = (reply: Reply) =>
  String(reply.getHeader('content-type') ?? '').split(';', 1)[0] ?? ''

const isJson = (reply: Reply) => /[/+]json$/.test(typeOf(reply))

const DOCUMENTS = join(import.meta.dirname, '../../../docs/openapi')

/** Throws when a reply does not match the document. */
type CheckReply = (method: string, path: string, reply: ApiReply) => void

/** Checks a service that runs as its own process by its committed document, which has every route. */
export function documentedReplies(mainFile: string): CheckReply | undefined {
  const name = /\/services\/([\w-]+)\/(?:src\/main\.ts|main\.js)$/.exec(mainFile)?.[1]
  const file = join(DOCUMENTS, `${name}.json`)
  if (!existsSync(file)) return undefined
  let prepared: { check: ReplyCheck; templateOf(path: string): string } | undefined
  return (method, path, { status, headers, body, bytes }) => {
    prepared ??= prepare(JSON.parse(readFileSync(file, 'utf8')))
    const type = (headers.get('content-type') ?? '').split(';', 1)[0] ?? ''
    const reply = { method: method.toLowerCase(), path: prepared.templateOf(path), status, type }
    const text = bytes.length === 0 ? undefined : typeof body === 'string' ? body : String(bytes)
    assert.equal(prepared.check(reply, text), undefined)
  }
}

function prepare(document: OpenApiDocument) {
  const templates = Object.keys(document.paths)
    // A literal path takes precedence over one with a parameter in its place.
    .sort((one, other) => one.split('{').length - other.split('{').length)
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`) }))
  const templateOf = (path: string) => {
    const [asked = ''] = path.split('?', 1)
    return templates.find(({ pattern }) => pattern.test(asked))?.path ?? ''
  }
  return { check: replyCheckOf(document), templateOf }
}

/** Most tests start a service with the same routes: the check is built once for all of them. */
const checks = new Map<string, ReplyCheck>()

function checkOf(operations: Operation[], api: ApiDescription): ReplyCheck {
  const described = operations.map((each) => [each, api.accessTo?.(each.url)])
  const text = JSON.stringify([api, described])
  const check = checks.get(text) ?? replyCheckOf(openApiDocument(operations, api))
  checks.set(text, check)
  return check
}
