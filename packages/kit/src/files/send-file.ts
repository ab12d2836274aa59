import type { IncomingHttpHeaders } from 'node:http'
import { Readable } from 'node:stream'
import type { Reply, Request } from '../http/server.ts'
import { failedPrecondition, rangeStillFits } from './preconditions.ts'
import { type ByteRange, requestedRange } from './ranges.ts'

/** A stored file as HTTP sees it, wherever its bytes are. */
export type Representation = {
  sizeBytes: number
  /** Strong, in its quotes. */
  etag: string
  lastModified: Date | undefined
  mediaType: string
  disposition: string
  /** Who may keep a copy; by default the caller, who must ask each time whether it is current. */
  cacheControl?: string
  /** Lower-case hex; sent as `Repr-Digest` (RFC 9530). */
  sha256?: string
  /** Opens the bytes from `start` to `end`, both included. Never called for an empty range. */
  open(start: number, end: number): Promise<Readable> | Readable
  /** Called instead of `open` when the answer has no body. */
  close?(): Promise<void>
}

/** Whatever the content, a browser shows it as what it is, runs nothing in it and lends it to no one. */
const SAFE_HEADERS = {
  'accept-ranges': 'bytes',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'same-origin',
  'x-content-type-options': 'nosniff',
}

/** A client that reads nothing for this long is gone, or holds a file open on purpose. */
const STALLED_MS = 60_000

/** Answers GET or HEAD for a file: whole, one range, or what the conditions ask for. */
export async function sendFile(
  request: Request,
  reply: Reply,
  file: Representation,
  { stalledMs = STALLED_MS } = {},
): Promise<Reply> {
  const { status, headers, range } = answerFor(request, file)
  // Opened first: a file that cannot be opened must not lend its headers to the problem.
  if (range && request.method !== 'HEAD') {
    const body = await file.open(range.start, range.end)
    reply.raw.setTimeout(stalledMs)
    return reply.code(status).headers(headers).send(body)
  }
  await file.close?.()
  // The framework takes "no payload" for a length of 0; an empty stream keeps the true length.
  const body = request.method === 'HEAD' ? Readable.from([]) : undefined
  return reply.code(status).headers(headers).send(body)
}

type Answer = { status: number; headers: Record<string, string>; range?: ByteRange }

type Asking = { method: string; headers: IncomingHttpHeaders }

/** Status, headers and bytes, decided before anything is opened. Only GET knows ranges. */
export function answerFor({ method, headers: asked }: Asking, file: Representation): Answer {
  const failed = failedPrecondition(asked, file)
  if (failed) return { status: failed, headers: validatorsOf(file) }

  const ranged = method === 'GET' && rangeStillFits(asked['if-range']?.toString(), file)
  const range = ranged ? requestedRange(asked.range, file.sizeBytes) : undefined
  if (range === 'unsatisfiable')
    return {
      status: 416,
      headers: { ...validatorsOf(file), 'content-range': `bytes */${file.sizeBytes}` },
    }
  return bodyFor(range, file)
}

function bodyFor(range: ByteRange | undefined, file: Representation): Answer {
  const { start, end } = range ?? { start: 0, end: file.sizeBytes - 1 }
  const headers: Record<string, string> = {
    ...validatorsOf(file),
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

function validatorsOf(file: Representation): Record<string, string> {
  const { etag, lastModified, cacheControl = 'private, no-cache' } = file
  const headers: Record<string, string> = {
    ...SAFE_HEADERS,
    'cache-control': cacheControl,
    etag,
  }
  if (lastModified) headers['last-modified'] = lastModified.toUTCString()
  return headers
}

function digestField(sha256: string): string {
  return `sha-256=:${Buffer.from(sha256, 'hex').toString('base64')}:`
}
