import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Reply, Request } from '../http/framework.ts'
import { listsTag, strongly, weakly } from '../http/routes/entity-tags.ts'
import { bareReply } from '../http/routes/operations.ts'
import { Problem } from '../problems.ts'
import { preconditionFailed, rangeUnsatisfiable } from './problems.ts'

export type FileBody = Readable | Buffer

/** A stored file as HTTP sees it, wherever its bytes are stored. */
export type Representation = {
  sizeBytes: number
  /** A strong entity tag, quotes included. */
  etag: string
  lastModified: Date | undefined
  mediaType: string
  disposition: string
  /** Override the default headers, or add to them. */
  headers?: Record<string, string>
  /** Lower-case hex; sent as `Repr-Digest` (RFC 9530). */
  sha256?: string
  /** Opens the bytes from `start` to `end`, both included, or reads a few of them. Never called for an empty range. */
  open(start: number, end: number): Promise<FileBody> | FileBody
  /** Called instead of `open` when the answer has no body. */
  close?(): Promise<void>
}

/**
 * A browser must not guess another type, run anything in the file or embed it in another site. It may
 * cache the file, but must revalidate it before each use.
 */
const DEFAULT_HEADERS = {
  'accept-ranges': 'bytes',
  'cache-control': 'private, no-cache',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** A client that reads nothing for this long is gone, or holds the file open on purpose. */
const STALLED_MS = 60_000

/** Answers GET or HEAD for a file: all of it, one range, or that the client has it. Throws the other refusals. */
export async function sendFile(
  request: Request,
  reply: Reply,
  file: Representation,
  { stalledMs = STALLED_MS } = {},
): Promise<Reply> {
  const answer = answerFor(request, file)
  if (answer instanceof Problem) {
    await file.close?.()
    throw answer
  }
  const { status, headers, range } = answer
  // Open first: if that fails, the reply with the problem must not have the headers of the file.
  if (range && request.method !== 'HEAD') {
    const body = await file.open(range.start, range.end)
    reply.raw.setTimeout(stalledMs)
    return reply.code(status).headers(headers).send(body)
  }
  await file.close?.()
  // Without a payload the framework sends a length of 0; an empty stream keeps the true length.
  const body = request.method === 'HEAD' ? Readable.from([]) : undefined
  return reply.code(status).headers(headers).send(body)
}

const SENT = ['ETag', 'Last-Modified', 'Accept-Ranges', 'Content-Disposition']

/** What `sendFile` answers besides `DOWNLOAD_PROBLEMS`, for the API document. */
export function fileReplies({ mediaTypes = ['*/*'], digest = true } = {}) {
  const headers = digest ? [...SENT, 'Repr-Digest'] : SENT
  const ranged = [...headers, 'Content-Range']
  return {
    200: bareReply({ mediaTypes, headers, description: 'The whole file' }),
    206: bareReply({ mediaTypes, headers: ranged, description: 'The requested range' }),
    304: bareReply({ headers: ['ETag'], description: 'The client already has this version' }),
  }
}

type Answer = { status: number; headers: Record<string, string>; range?: ByteRange }

/** Decides before anything is opened. Only GET has ranges. */
function answerFor(request: Request, file: Representation): Answer | Problem {
  const { method, headers: asked } = request
  const validators = validatorsOf(file, request.server.clock())
  const failed = failedPrecondition(asked, file)
  if (failed === 412) return preconditionFailed({ headers: validators })
  if (failed === 304) return { status: failed, headers: validators }

  const ranged = method === 'GET' && ifRangeMatches(asked['if-range']?.toString(), file)
  const range = ranged ? requestedRange(asked.range, file.sizeBytes) : undefined
  if (range === 'unsatisfiable')
    return rangeUnsatisfiable({
      headers: { ...validators, 'content-range': `bytes */${file.sizeBytes}` },
    })
  return bodyFor(range, file, validators)
}

function bodyFor(
  range: ByteRange | undefined,
  file: Representation,
  validators: Record<string, string>,
): Answer {
  const { start, end } = range ?? { start: 0, end: file.sizeBytes - 1 }
  const headers: Record<string, string> = {
    ...validators,
    'content-type': file.mediaType,
    'content-disposition': file.disposition,
    'content-length': String(end - start + 1),
  }
  if (range) headers['content-range'] = `bytes ${start}-${end}/${file.sizeBytes}`
  if (file.sha256) headers['repr-digest'] = digestField(file.sha256)
  return {
    status: range ? 206 : 200,
    headers,
    range: file.sizeBytes > 0 ? { start, end } : undefined,
  }
}

/**
 * A date in the future is sent as the date of the reply (RFC 9110 section 8.8.2.1). Conditions are
 * compared with the true date, so that a date sent this way never confirms an outdated copy.
 */
function validatorsOf(file: Representation, now: Date): Record<string, string> {
  const { etag, lastModified } = file
  const headers: Record<string, string> = { ...DEFAULT_HEADERS, ...file.headers, etag }
  if (lastModified)
    headers['last-modified'] = (lastModified > now ? now : lastModified).toUTCString()
  return headers
}

function digestField(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`
}

/** What a precondition is compared with. */
type Validators = Pick<Representation, 'etag' | 'lastModified'>

/**
 * The status that answers a conditional GET or HEAD, evaluated in the order of RFC 9110 section
 * 13.2.2; `undefined` when the request proceeds as if it had no conditions.
 */
export function failedPrecondition(
  headers: IncomingHttpHeaders,
  current: Validators,
): 304 | 412 | undefined {
  if (headers['if-match'] !== undefined) {
    if (!listsTag(headers['if-match'], current.etag, strongly)) return 412
  } else if (changedSince(headers['if-unmodified-since'], current)) return 412

  if (headers['if-none-match'] !== undefined)
    return listsTag(headers['if-none-match'], current.etag, weakly) ? 304 : undefined
  return unchangedSince(headers['if-modified-since'], current) ? 304 : undefined
}

/** Whether `Range` may be honoured: no `If-Range`, or one that matches the current version exactly. */
export function ifRangeMatches(ifRange: string | undefined, current: Validators): boolean {
  if (ifRange === undefined) return true
  if (/^(W\/)?"/.test(ifRange)) return ifRange === current.etag
  const date = httpDate(ifRange)
  return date !== undefined && date === wholeSeconds(current.lastModified)
}

function changedSince(header: string | undefined, { lastModified }: Validators): boolean {
  const [date, modified] = [httpDate(header), wholeSeconds(lastModified)]
  return date !== undefined && modified !== undefined && modified > date
}

function unchangedSince(header: string | undefined, { lastModified }: Validators): boolean {
  const [date, modified] = [httpDate(header), wholeSeconds(lastModified)]
  return date !== undefined && modified !== undefined && modified <= date
}

/** Dates in HTTP have whole seconds. */
function wholeSeconds(date: Date | undefined): number | undefined {
  return date && Math.floor(date.getTime() / 1000)
}

/** Seconds since 1970 from any of the three forms of RFC 9110; `undefined` for anything else. */
function httpDate(text: string | undefined): number | undefined {
  if (!text || !/^[A-Z][a-z]{2,8},? .*\d\d:\d\d:\d\d/.test(text)) return undefined
  const milliseconds = Date.parse(text.endsWith(' GMT') ? text : `${text} GMT`)
  return Number.isNaN(milliseconds) ? undefined : Math.floor(milliseconds / 1000)
}

/** Bytes from `start` to `end`, both included, as in `Content-Range`. */
type ByteRange = { start: number; end: number }

/**
 * The range that a `Range` header requests (RFC 9110 section 14). `undefined` means the whole file:
 * no header, another unit, a malformed header, or several ranges, which a server may always ignore.
 */
export function requestedRange(
  header: string | undefined,
  sizeBytes: number,
): ByteRange | 'unsatisfiable' | undefined {
  const match = /^bytes=[ \t]*(\d*)-(\d*)[ \t]*$/i.exec(header ?? '')
  const [first, last] = [match?.[1] ?? '', match?.[2] ?? '']
  if (first === '' && last === '') return undefined
  if (first === '') return suffix(Number(last), sizeBytes)
  const start = Number(first)
  const end = last === '' ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1)
  if (last !== '' && Number(last) < start) return undefined
  return start < sizeBytes ? { start, end } : 'unsatisfiable'
}

function suffix(length: number, sizeBytes: number): ByteRange | 'unsatisfiable' {
  if (length === 0 || sizeBytes === 0) return 'unsatisfiable'
  return { start: Math.max(0, sizeBytes - length), end: sizeBytes - 1 }
}

const MAX_NAME = 150

/**
 * `Content-Disposition` (RFC 6266): an ASCII name for old clients, and the full name encoded by
 * RFC 8187. Whatever the name contains, the result is a single line of ASCII.
 */
export function contentDisposition(kind: 'attachment' | 'inline', name: string): string {
  const shown = presentableName(name)
  const plain = shown.replace(/[^\x20-\x7e]/g, '_').replace(/["\\%]/g, '_')
  return `${kind}; filename="${plain}"; filename*=UTF-8''${encodeExtended(shown)}`
}

// The two joiners are part of names in Persian and Hindi, and of emoji; browsers keep them too.
const MISLEADING = /(?![\u200c\u200d])[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

/** The last part of a name, without characters that could mislead a person or a file system. */
function presentableName(name: string): string {
  const last = name.toWellFormed().split(/[/\\]/).at(-1) ?? ''
  const visible = last.replace(MISLEADING, '').trim()
  return shortened(visible.replace(/^\.+$/, '')) || 'file'
}

/** Cuts out the middle, to keep the extension. */
function shortened(name: string): string {
  const characters = [...name]
  if (characters.length <= MAX_NAME) return name
  return [...characters.slice(0, MAX_NAME - 20), ...characters.slice(-20)].join('')
}

/** RFC 8187 allows fewer characters than `encodeURIComponent` leaves unescaped. */
function encodeExtended(name: string): string {
  return encodeURIComponent(name).replace(
    /['()*]/g,
    (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`,
  )
}
