import { addAbortSignal, type Readable } from 'node:stream'
import { crc32 } from 'node:zlib'
import { PassingStream, passingChunks } from '@plinth/kit/files'
import { findFile } from '../files/files.repository.ts'
import { storedBytesMissing } from '../files/problems.ts'
import { objectKey, type Storage, type StoredFile } from '../files/storage.ts'
import { runningSums } from '../files/sums.ts'
import {
  type ArchiveEntry,
  descriptor,
  directoryHeader,
  endOfArchive,
  type Layout,
  localHeader,
} from './layout.ts'
import { type KnownCrc, updateCrcs } from './zip.repository.ts'

/** The file whose content an entry has. */
type ArchivedFile = Pick<
  StoredFile,
  'id' | 'location' | 'objectName' | 'sizeBytes' | 'checksumSha256'
>

/** Without a file it is a folder. */
export type FileEntry = ArchiveEntry & { file?: ArchivedFile }

type Options = {
  /** Aborts when the client has left. */
  signal: AbortSignal
  sent(bytes: number): void
}

const JOINED_BYTES = 64 * 1024
const CRCS_AT_ONCE = 200

/**
 * The archive as it is read from the store, one file after the other; nothing is kept here. It fails when a
 * file cannot be read, or is not the one that was counted: the length has been announced, so the client
 * notices that the archive is not whole.
 */
export function archiveStream(
  storage: Storage,
  layout: Layout<FileEntry>,
  { signal, sent }: Options,
): Readable {
  const chunks = async function* () {
    for await (const chunk of joined(partsOf(storage, layout, signal))) {
      sent(chunk.length)
      yield chunk
    }
  }
  return new PassingStream(chunks())
}

async function* partsOf(
  storage: Storage,
  layout: Layout<FileEntry>,
  signal: AbortSignal,
): AsyncGenerator<Buffer> {
  const crcs: number[] = []
  const learnt = learntCrcs(storage)
  const reading = { signal, buffers: [] }
  for (const { entry } of layout.placed) {
    yield localHeader(entry)
    const crc = entry.file ? yield* contentOf(storage, entry, reading) : 0
    crcs.push(crc)
    if (entry.crc32 !== undefined) continue
    yield descriptor(entry, crc)
    if (entry.file) await learnt.add({ ...entry.file, crc32: crc })
  }
  for (const [index, placed] of layout.placed.entries())
    yield directoryHeader(placed, crcs[index] ?? 0)
  yield endOfArchive(layout)
  await learnt.flush()
}

/** What the files of one archive share: they are read one after the other. */
type Reading = { signal: AbortSignal; buffers: Buffer[] }

/** Yields the content of an entry, each chunk valid until the next, and returns its CRC-32. */
async function* contentOf(
  storage: Storage,
  { file, crc32: expected }: FileEntry,
  reading: Reading,
): AsyncGenerator<Buffer, number> {
  if (!file) return 0
  // A file without a CRC-32 must at least have its SHA-256, or the archive would certify damaged bytes.
  const sums = expected === undefined ? runningSums() : undefined
  let [crc, bytes] = [0, 0]
  for await (const chunk of await open(storage, file, reading)) {
    crc = crc32(chunk, crc)
    sums?.update(chunk)
    bytes += chunk.length
    yield chunk
  }
  const isWhole = sums ? sums.digest().sha256 === file.checksumSha256 : crc === expected
  if (!isWhole || bytes !== file.sizeBytes)
    throw new Error(`File ${file.id} does not have the bytes that were stored.`)
  return crc
}

/** A move may have taken the object elsewhere since the rows were read; other content is refused. */
async function open(
  storage: Storage,
  file: ArchivedFile,
  reading: Reading,
): Promise<AsyncIterable<Buffer> | Iterable<Buffer>> {
  const range = { start: 0, end: file.sizeBytes - 1 }
  const found = await storage.providers.at(file.location).read(objectKey(file), range)
  if (Buffer.isBuffer(found)) return [found]
  if (found) {
    addAbortSignal(reading.signal, found)
    return passingChunks(found, reading.buffers)
  }
  const current = await findFile(storage.db, file.id)
  const isMoved =
    current?.state === 'stored' &&
    current.checksumSha256 === file.checksumSha256 &&
    current.objectName !== file.objectName
  if (!isMoved) throw storedBytesMissing({ cause: new Error(`No object for file ${file.id}`) })
  return open(storage, current, reading)
}

/** Keeps what was learnt about files of an earlier version, so that the next archive knows it before. */
function learntCrcs({ db, log }: Storage) {
  let crcs: KnownCrc[] = []
  const flush = async () => {
    const batch = crcs
    crcs = []
    await updateCrcs(db, batch).catch((error) =>
      log.warn({ err: error }, 'checksums for archives could not be kept'),
    )
  }
  return {
    async add(known: KnownCrc) {
      crcs.push(known)
      if (crcs.length >= CRCS_AT_ONCE) await flush()
    },
    flush,
  }
}

/**
 * Joins small parts, of which an archive of small files has many. Not the first: with it the reply has begun, and
 * what fails afterwards cuts the connection.
 */
async function* joined(parts: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let [pieces, bytes]: [Buffer[], number] = [[], 0]
  let isFirst = true
  for await (const part of parts) {
    const isLarge = isFirst || part.length >= JOINED_BYTES
    isFirst = false
    if (!isLarge) {
      // A copy: the part is valid only until the next.
      pieces.push(Buffer.from(part))
      bytes += part.length
    }
    if ((isLarge && bytes > 0) || bytes >= JOINED_BYTES) {
      yield Buffer.concat(pieces)
      pieces = []
      bytes = 0
    }
    if (isLarge) yield part
  }
  if (bytes > 0) yield Buffer.concat(pieces)
}
