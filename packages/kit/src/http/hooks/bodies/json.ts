import { Readable } from 'node:stream'
import { malformedBody, malformedRequest } from '../../../problems.ts'
import { inTurn } from '../../../runtime/turns.ts'
import type { Request, Server } from '../../framework.ts'
import { beforeBodies, hasBody } from './before-bodies.ts'
import { FORM } from './forms.ts'

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

const MAX_DEPTH = 32
const TOO_DEEP = `The body is nested more than ${MAX_DEPTH} levels deep.`

/** Counted before parsing: deep nesting makes the parser slow, and deeper nesting overflows its stack. */
export function isTooDeep(json: string): boolean {
  let depth = 0
  for (let index = 0; index < json.length; index++) {
    const character = json[index]
    if (character === '"') index = endOfText(json, index)
    else if (character === '[' || character === '{') depth += 1
    else if (character === ']' || character === '}') depth -= 1
    if (depth > MAX_DEPTH) return true
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
