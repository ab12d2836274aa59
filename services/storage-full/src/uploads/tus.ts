import type { IncomingHttpHeaders } from 'node:http'
import { pathId } from '@plinth/kit/http'
import { mediaTypeUnsupported, validationFailed } from '@plinth/kit/problems'
import { folderPath, ROOT } from '../files/folders/paths.ts'
import type { Incoming } from './append.ts'
import { tusVersionUnknown } from './problems.ts'
import type { AnnouncedFile, Upload } from './uploads.ts'

/**
 * The words of tus 1.0.0 (https://tus.io/protocols/resumable-upload), and what they mean to the rules about uploads.
 */
export const TUS_VERSION = '1.0.0'
export const CHUNK_TYPE = 'application/offset+octet-stream'
const DIGEST_BYTES = { sha1: 20, sha256: 32 } as const

/** Length before data, and parts that are joined later, would need another store below. */
export function offerOf(maxFileBytes: number): Record<string, string> {
  return {
    'tus-version': TUS_VERSION,
    'tus-extension': 'creation,creation-with-upload,expiration,checksum,termination',
    'tus-max-size': String(maxFileBytes),
    'tus-checksum-algorithm': Object.keys(DIGEST_BYTES).join(','),
  }
}

/** For pages of other origins: the headers they send, and those of the replies that they read. */
export const TUS_CORS_HEADERS: { sent: string[]; received: string[] } = {
  sent: [
    'tus-resumable',
    'upload-checksum',
    // Refused, but a page must be able to read why.
    'upload-concat',
    'upload-defer-length',
    'upload-length',
    'upload-metadata',
    'upload-offset',
    'x-http-method-override',
  ],
  received: [
    'tus-checksum-algorithm',
    'tus-extension',
    'tus-max-size',
    'tus-resumable',
    'tus-version',
    'upload-expires',
    'upload-length',
    'upload-metadata',
    'upload-offset',
    'x-file-id',
  ],
}

export function requireTusVersion(headers: IncomingHttpHeaders): void {
  if (headers['tus-resumable'] !== TUS_VERSION) throw tusVersionUnknown()
}

/** What the headers of a creation say about the file. */
export function announcedFile(headers: IncomingHttpHeaders): AnnouncedFile {
  if (headers['upload-concat'] !== undefined)
    throw validationFailed(['Upload-Concat: parallel uploads are not offered; send one upload'])
  if (headers['upload-defer-length'] !== undefined)
    throw validationFailed(['Upload-Defer-Length: the length must be known at creation'])
  const length = wholeNumber(headers, 'upload-length')
  if (length === 0) throw validationFailed(['Upload-Length: an empty file is not accepted'])
  const metadata = textOf(headers, 'upload-metadata')
  const values = metadataOf(metadata)
  return {
    filename: filenameIn(values),
    folder: placeIn(values),
    declaredType: values.get('filetype') || values.get('type') || '',
    length,
    sha256: checksumIn(values),
    metadata,
    replaces: replacedIn(values),
    ifMatch: headers['if-match'] ?? null,
  }
}

function textOf(headers: IncomingHttpHeaders, name: string): string {
  return String(headers[name] ?? '').trim()
}

function wholeNumber(headers: IncomingHttpHeaders, name: string): number {
  const text = textOf(headers, name)
  const value = /^\d{1,16}$/.test(text) ? Number(text) : Number.NaN
  if (Number.isSafeInteger(value)) return value
  const shown = name.replaceAll(/\b[a-z]/g, (letter) => letter.toUpperCase())
  throw validationFailed([`${shown}: must be a whole number of bytes`])
}

const KEY = /^[\x21-\x2b\x2d-\x7e]+$/
const BASE64 = /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/
const UTF8 = new TextDecoder('utf-8', { fatal: true })
/** Keys that mean something here; the values of others are the client's own business. */
const KNOWN_KEYS = new Set([
  'filename',
  'name',
  'filetype',
  'type',
  'folder',
  'relativePath',
  'replaces',
  'sha256',
])

/** `key base64, key base64`; the value of a key may be absent. */
function metadataOf(header: string): Map<string, string> {
  const values = new Map<string, string>()
  const seen = new Set<string>()
  for (const pair of header === '' ? [] : header.split(',')) {
    const [key = '', value = '', ...rest] = pair.trim().split(' ')
    if (!KEY.test(key) || !BASE64.test(value) || rest.length > 0)
      throw validationFailed(['Upload-Metadata: must be pairs of a key and a value in base64'])
    if (seen.has(key)) throw validationFailed([`Upload-Metadata: the key ${key} is repeated`])
    seen.add(key)
    if (KNOWN_KEYS.has(key)) values.set(key, decoded(key, value))
  }
  return values
}

function decoded(key: string, value: string): string {
  try {
    return UTF8.decode(Buffer.from(value, 'base64'))
  } catch {
    throw validationFailed([`Upload-Metadata: ${key} is not valid UTF-8`])
  }
}

function filenameIn(values: Map<string, string>): string {
  const filename = values.get('filename') || values.get('name') || ''
  const name = filename.split(/[/\\]/).at(-1) ?? ''
  if (name.trim() === '')
    throw validationFailed(['Upload-Metadata: needs a filename or a name, in base64'])
  if (/\p{Cc}/u.test(name))
    throw validationFailed(['Upload-Metadata: the file name has control characters'])
  return name
}

function checksumIn(values: Map<string, string>): string | null {
  const given = values.get('sha256')
  if (!given) return null
  if (/^[0-9a-f]{64}$/i.test(given)) return given.toLowerCase()
  throw validationFailed(['Upload-Metadata: sha256 must have 64 hexadecimal digits'])
}

/** The folders of `relativePath`, whose last part is the name of the file, go below `folder`. */
function placeIn(values: Map<string, string>): string {
  const folder = folderPath(values.get('folder') || ROOT, 'Upload-Metadata: folder')
  // Uppy sends the text `null` for a file that was not dropped with its folder.
  const relativePath = (values.get('relativePath') ?? '').replace(/^null$/, '').replace(/^\/+/, '')
  const below = relativePath.slice(0, Math.max(0, relativePath.lastIndexOf('/')))
  if (below === '') return folder
  return folderPath(`${folder === ROOT ? '' : folder}/${below}`, 'Upload-Metadata: relativePath')
}

function replacedIn(values: Map<string, string>): number | null {
  const text = values.get('replaces') ?? ''
  if (text === '') return null
  const unknown = () => validationFailed(['Upload-Metadata: replaces must be the id of a file'])
  return pathId(text, { unknown })
}

export function requireChunkType(headers: IncomingHttpHeaders): void {
  if (isChunk(headers)) return
  throw mediaTypeUnsupported({ detail: `Send the body as "Content-Type: ${CHUNK_TYPE}".` })
}

export function isChunk(headers: IncomingHttpHeaders): boolean {
  return headers['content-type']?.trim().toLowerCase() === CHUNK_TYPE
}

type ChunkDescription = Pick<Incoming, 'offset' | 'sizeBytes' | 'checksum'>

export function chunkOf(headers: IncomingHttpHeaders): ChunkDescription {
  return { offset: wholeNumber(headers, 'upload-offset'), ...bodyOf(headers) }
}

/** The bytes that come with a creation. */
export function firstChunkOf(headers: IncomingHttpHeaders): ChunkDescription {
  return { offset: 0, ...bodyOf(headers) }
}

function bodyOf(headers: IncomingHttpHeaders): Omit<ChunkDescription, 'offset'> {
  const isOpen = headers['transfer-encoding'] !== undefined
  return {
    sizeBytes: isOpen ? undefined : Number(headers['content-length'] ?? 0),
    checksum: checksumOf(headers),
  }
}

function checksumOf(headers: IncomingHttpHeaders): Incoming['checksum'] {
  if (headers['upload-checksum'] === undefined) return undefined
  const [algorithm = '', value = '', ...rest] = textOf(headers, 'upload-checksum').split(' ')
  if (algorithm !== 'sha1' && algorithm !== 'sha256')
    throw validationFailed(['Upload-Checksum: the algorithm must be sha1 or sha256'])
  const digest = Buffer.from(value, 'base64')
  const isDigest = BASE64.test(value) && digest.length === DIGEST_BYTES[algorithm]
  if (!isDigest || rest.length > 0)
    throw validationFailed(['Upload-Checksum: must be an algorithm and a checksum in base64'])
  return { algorithm, digest }
}

/** Where an upload is, and what it has become. */
export function stateHeaders({ offset, fileId, expiresAt }: Upload): Record<string, string> {
  return {
    'upload-offset': String(offset),
    'upload-expires': new Date(expiresAt).toUTCString(),
    ...(fileId !== null && { 'x-file-id': String(fileId) }),
  }
}
