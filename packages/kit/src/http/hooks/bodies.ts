import type { IncomingMessage, ServerResponse } from 'node:http'
import { Readable } from 'node:stream'
import {
  bodyTooSlow,
  encodingUnsupported,
  malformedBody,
  malformedRequest,
  type Problem,
  tooManyUnfinished,
} from '../../problems.ts'
import { inTurn } from '../../runtime/turns.ts'
import type { Guard, Reply, Request, Server } from '../framework.ts'

/**
 * Cuts off a body that arrives too slowly, because it holds a connection for nothing. Uploads are exempt:
 * they are as slow as the client's connection and have a minimum speed. After the answer every body has
 * this deadline: no handler waits for the body of a GET or of a request that was refused.
 */
export function limitBodyTime(server: Server, deadlineMs = 30_000): void {
  const unfinished = unfinishedBodies()
  beforeBodies(server, (request, reply, payload, done) => {
    if (hasBody(request.headers) && !request.routeOptions.config.receivesUpload) {
      const watch = () => {
        late.add(request)
        const release = unfinished.reserve(maxBytes(request))
        if (!release) return fail(payload, tooManyUnfinished())
        const timer = setTimeout(() => fail(payload, bodyTooSlow()), deadlineMs)
        const stop = () => {
          clearTimeout(timer)
          release()
        }
        payload.once('end', stop)
        reply.raw.once('close', stop)
      }
      // A small body usually comes with its headers, and has been read by then.
      setImmediate(() => {
        if (!request.raw.complete && !reply.raw.destroyed) watch()
      })
    }
    done(null, payload)
  })
  server.server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    if (hasBody(request.headers)) response.once('finish', () => cutRest(request, deadlineMs))
  })
}

/**
 * With an error event, not destroy(), which would close the connection before the answer. A body that is not
 * read, because the request was refused or needs none, has no listener: the event would end the process.
 */
function fail(payload: Readable, problem: Problem): void {
  if (payload.listenerCount('error') > 0) payload.emit('error', problem)
}

type BeforeBody = (
  request: Request,
  reply: Reply,
  payload: Readable,
  done: (error: Error | null, payload?: Readable) => void,
) => void

const BODILESS = new Set(['GET', 'HEAD', 'OPTIONS'])

/** Whether the body of a request is read, if it has one. */
export function readsBody({ method }: { method: string | string[] }): boolean {
  return [method].flat().some((name) => !BODILESS.has(name))
}

/** Skips routes that read no body, where the hook would run for nothing. */
function beforeBodies(server: Server, hook: BeforeBody): void {
  server.addHook('onRoute', (route) => {
    if (!readsBody(route)) return
    route.preParsing = [...[route.preParsing ?? []].flat(), hook as never]
  })
}

/** Requests whose body arrived later than their headers. */
const late = new WeakSet<Request>()

/**
 * Guards run before the body, which may take a while: a caller whose session ends or whose role is withdrawn
 * meanwhile must not proceed with its former rights. A body that arrived with its headers needs no second
 * check. An upload is read by its handler, after this.
 */
export function guardLateBodies(server: Server): void {
  server.addHook('onRoute', (route) => {
    const guards = [route.onRequest ?? []].flat().filter((hook) => 'access' in hook) as Guard[]
    if (guards.length === 0 || route.method === 'GET') return
    const guardAgain = async (request: Request) => {
      if (!late.has(request)) return
      for (const guard of guards) await guard(request)
    }
    route.preValidation = [guardAgain, ...[route.preValidation ?? []].flat()]
  })
}

const UNFINISHED_BYTES = 64 * 1024 * 1024

/** Limits the total memory of bodies that have begun to arrive but are not complete. */
function unfinishedBodies() {
  let reserved = 0
  return {
    reserve(bytes: number): (() => void) | undefined {
      if (reserved + bytes > UNFINISHED_BYTES) return undefined
      reserved += bytes
      let held = bytes
      return () => {
        reserved -= held
        held = 0
      }
    },
  }
}

function maxBytes({ headers, routeOptions }: Request): number {
  const announced = Number(headers['content-length'] ?? Number.POSITIVE_INFINITY)
  return Math.min(announced, routeOptions.bodyLimit ?? DEFAULT_BODY_BYTES)
}

function cutRest(request: IncomingMessage, deadlineMs: number): void {
  if (request.complete) return
  const timer = setTimeout(() => request.destroy(), deadlineMs).unref()
  request.once('end', () => clearTimeout(timer))
}

function hasBody(headers: Record<string, unknown>): boolean {
  return headers['transfer-encoding'] !== undefined || Number(headers['content-length'] ?? 0) > 0
}

export const DEFAULT_BODY_BYTES = 128 * 1024
/** For routes that take credentials or tokens: the body is small, and anyone may send one. */
export const CREDENTIALS_BODY_BYTES = 16 * 1024
const DEEPEST_NESTING = 32

const FORM = 'application/x-www-form-urlencoded'

/**
 * An empty body counts as no body, even when the client says it is JSON: endpoints without a body accept
 * it, and a schema reports it like any other fault. A member that would set the prototype is dropped.
 */
export function parseJsonBodies(server: Server): void {
  const parse = server.getDefaultJsonParser('remove', 'remove')
  server.removeContentTypeParser('text/plain')
  server.addContentTypeParser(
    'application/json',
    { parseAs: 'buffer' },
    (request, bytes: Buffer, done) =>
      readInTurn({ request, bytes, done }, () => {
        const body = decoded(bytes)
        if (body === undefined) done(malformedBody({ detail: NOT_UTF8 }))
        else if (body.trim() === '') done(null, undefined)
        else if (isTooDeep(body)) done(malformedBody({ detail: TOO_DEEP }))
        else parse(request, body, done)
      }),
  )
  beforeBodies(server, (request, _reply, payload, done) => {
    const { headers } = request
    if (headers['content-type'] === undefined) return done(null, payload)
    if (isLabelledForNothing(request)) delete headers['content-type']
    done(null, isAnnounced(headers) ? payload : Readable.from([]))
  })
}

/** To parse and check a body of this size takes at most half a millisecond; one of 128 KB may take eight. */
const LARGE_BYTES = 8192

type Arrived = { request: Request; bytes: Buffer; done: (error: Error | null) => void }

/** Reads a body at once if it is small, and otherwise in its turn, unless its client has left meanwhile. */
export function readInTurn({ request, bytes, done }: Arrived, read: () => void): void {
  const hasLeft = () => request.raw.socket.destroyed
  if (bytes.length < LARGE_BYTES) read()
  else inTurn(() => (hasLeft() ? done(malformedRequest()) : read()))
}

const UTF8 = new TextDecoder('utf-8', { fatal: true })
const NOT_UTF8 = 'The body is not valid UTF-8.'

/** Undefined if it is not UTF-8: two different texts must not become the same one. */
function decoded(bytes: Buffer): string | undefined {
  try {
    return UTF8.decode(bytes)
  } catch {
    return undefined
  }
}

/**
 * Compressed bodies are refused, because a small one could expand into a large one. A route with
 * `refusesEncoding` does so itself.
 */
export function refuseEncodedBodies(server: Server): void {
  beforeBodies(server, ({ headers, routeOptions }, _reply, payload, done) => {
    if (routeOptions.config.refusesEncoding) return done(null, payload)
    if (!isEncoded(headers) || !hasBody(headers)) done(null, payload)
    else done(encodingUnsupported())
  })
}

export function isEncoded(headers: Request['headers']): boolean {
  const encoding = headers['content-encoding']?.trim().toLowerCase() ?? ''
  return encoding !== '' && encoding !== 'identity'
}

const TOO_DEEP = `The body is nested more than ${DEEPEST_NESTING} levels deep.`

/** Counted before parsing: deep nesting makes the parser slow, and deeper nesting overflows its stack. */
export function isTooDeep(json: string): boolean {
  let depth = 0
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') index = endOfText(json, index)
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > DEEPEST_NESTING) return true
  }
  return false
}

/** The end of the string that begins at `start`. Scans it once: a pattern would retry from each quote. */
function endOfText(json: string, start: number): number {
  for (let index = start + 1; index < json.length; index++) {
    if (json[index] === '"') return index
    if (json[index] === '\\') index += 1
  }
  return json.length
}

/** Without either header Node has no stream for the body, and a parser would never see its end. */
function isAnnounced(headers: Request['headers']): boolean {
  return headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined
}

/** Several HTTP clients label every POST a form, even one without a body; others send an empty type. */
function isLabelledForNothing({ headers, mediaType, server }: Request): boolean {
  if (hasBody(headers)) return false
  return mediaType === undefined || (mediaType === FORM && !server.hasContentTypeParser(FORM))
}

/**
 * The framework answers 415 to a `Content-Type` that is not a media type, before any parser. Without
 * the header the parser for all types gets the body, and the route gives its own answer.
 */
export async function forgetUnreadableType({ headers, mediaType }: Request): Promise<void> {
  if (mediaType === undefined) delete headers['content-type']
}

/**
 * A client that asks first (`Expect: 100-continue`) is told to send its body once the guards of the
 * route have let it pass. An upload is refused for more reasons, so its handler decides.
 */
export function inviteBodies(server: Server): void {
  server.server.on('checkContinue', (request: IncomingMessage, response: ServerResponse) => {
    server.server.emit('request', request, response)
  })
  beforeBodies(server, ({ raw, routeOptions }, reply, payload, done) => {
    if (!routeOptions.config.receivesUpload) inviteBody(raw, reply.raw)
    done(null, payload)
  })
}

export function inviteBody({ headers }: IncomingMessage, response: ServerResponse): void {
  if (/\b100-continue\b/i.test(headers.expect ?? '')) response.writeContinue()
}
