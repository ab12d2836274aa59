import type { Readable } from 'node:stream'
import {
  contentDisposition,
  FILE_TYPES,
  type FileBody,
  type Representation,
  Spool,
  type SpoolOptions,
} from '@plinth/kit/files'
import { asStorageFault } from '../locations/problems.ts'
import type { ByteRange } from '../locations/providers/provider.ts'
import { findFile } from './files.repository.ts'
import { contentReplaced, fileNotFound, storedBytesMissing } from './problems.ts'
import { objectKey, type Storage, type StoredFile } from './storage.ts'
import { sumsOf } from './sums.ts'

const ATTACHMENT_ONLY = new Set(
  FILE_TYPES.filter((type) => type.attachmentOnly).map(({ mediaType }) => mediaType),
)

/** A stored file as HTTP sees it: for its owner, and for anyone with a link to it. */
export function representationOf(
  storage: Storage,
  file: StoredFile,
  as: 'inline' | 'attachment',
): Representation {
  const { contentType, originalFilename } = file
  const shown = ATTACHMENT_ONLY.has(contentType) ? 'attachment' : as
  return {
    sizeBytes: file.sizeBytes,
    etag: `"${file.checksumSha256}"`,
    lastModified: new Date(file.replacedAt ?? file.createdAt),
    mediaType: contentType.startsWith('text/') ? `${contentType}; charset=utf-8` : contentType,
    disposition: contentDisposition(shown, originalFilename),
    sha256: file.checksumSha256,
    open: (start, end) => readBytes(storage, file, { start, end }),
  }
}

/**
 * Opens the bytes at the location in the row. A move may have taken the object elsewhere since the row
 * was read; then the row is read again for the new location. Bytes of another version are never opened: their
 * reader expects others.
 */
export function openBytes(storage: Storage, file: StoredFile): Promise<Readable> {
  return whereStored(storage, file, (found) =>
    storage.providers.at(found.location).open(objectKey(found)),
  )
}

/** As `openBytes`, for a reply: a small file comes at once. */
function readBytes(storage: Storage, file: StoredFile, range: ByteRange): Promise<FileBody> {
  return whereStored(storage, file, (found) =>
    storage.providers.at(found.location).read(objectKey(found), range),
  )
}

async function whereStored<T>(
  storage: Storage,
  file: StoredFile,
  open: (file: StoredFile) => Promise<T | undefined>,
): Promise<T> {
  const bytes = await open(file)
  if (bytes) return bytes
  const current = await findFile(storage.db, file.id)
  if (current?.state !== 'stored') throw fileNotFound()
  if (current.objectName === file.objectName)
    throw storedBytesMissing({ cause: new Error(`No object for file ${file.id}`) })
  if (current.version !== file.version) throw contentReplaced()
  return whereStored(storage, current, open)
}

const READ_ATTEMPTS = 5

/** Runs `work` with the file, and again with its new content if that was replaced before its bytes were opened. */
export async function withContent<T>(
  { db }: Pick<Storage, 'db'>,
  file: StoredFile,
  work: (file: StoredFile) => Promise<T>,
): Promise<T> {
  let current = file
  for (let attempt = 1; ; attempt++) {
    try {
      return await work(current)
    } catch (error) {
      if (!contentReplaced.is(error) || attempt === READ_ATTEMPTS) throw error
    }
    const found = await findFile(db, file.id)
    if (found?.state !== 'stored') throw fileNotFound()
    current = found
  }
}

/** Copies bytes into a temporary file, as for an upload. */
export async function spoolBytes(
  bytes: Readable,
  folder: string,
  options: SpoolOptions,
): Promise<Spool> {
  const spool = new Spool(folder, options)
  try {
    for await (const chunk of bytes) await spool.write(chunk)
    await spool.finish()
    return spool
  } catch (error) {
    bytes.destroy()
    await spool[Symbol.asyncDispose]()
    throw asStorageFault(error)
  }
}

export async function checksumOf(bytes: Readable): Promise<string> {
  return (await sumsOf(bytes)).sha256
}
