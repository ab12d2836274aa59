import { Readable } from 'node:stream'
import { databaseFault } from '@plinth/kit/database'
import type { FileBody } from '@plinth/kit/files'
import { failPoint, isRecent } from '@plinth/kit/runtime'
import { spoolBytes } from '../files/bytes.ts'
import { besideKey, newRenditionName, type Storage, type StoredFile } from '../files/storage.ts'
import { storageUnavailable } from '../locations/problems.ts'
import { removeRenditions } from './kept-beside.ts'
import type { Facts, Format } from './outcome.ts'
import {
  deleteLeastUsed,
  deleteRendition,
  insertRendition,
  type Leaving,
  type Rendition,
  sumRenditions,
  updateUsed,
} from './renditions.repository.ts'

const MAX_PER_PICTURE = 32
const MAX_USES = 200
const USES_SECONDS = 60
/** Other nodes add renditions too. */
const COUNTED_SECONDS = 60

const UNREADABLE = { state: 'renditions', message: 'a rendition cannot be read' }
const UNKEPT = { state: 'kept renditions', message: 'a rendition could not be kept' }

type Made = { facts: Facts; format: Format; parameters: string; bytes: Buffer }

export type RenditionCache = {
  /** The bytes of a rendition; undefined when they are gone or damaged. */
  open(file: StoredFile, rendition: Rendition): Promise<FileBody | undefined>
  /** Remembers that it was used. */
  use(rendition: Rendition): void
  /** A failure is logged: the caller has the bytes anyway. */
  keep(file: StoredFile, made: Made): Promise<void>
  forget(rendition: Rendition): Promise<void>
  /** Makes all renditions together fit. */
  shrink(): Promise<void>
}

type CacheOptions = { cacheBytes: number; evicted(count: number): void }

/** Renditions are kept beside the object. Those not used for the longest time make room for new ones. */
export function createRenditionCache(
  storage: Storage,
  { cacheBytes, evicted }: CacheOptions,
): RenditionCache {
  const { db, log, providers } = storage
  const uses = createUses(storage)
  const evict = async (leaving: Leaving[]) => {
    evicted(leaving.length)
    await removeRenditions(storage, leaving)
  }
  const shrink = async () => {
    await uses.write()
    for (let excess = (await sumRenditions(db)) - cacheBytes; excess > 0; ) {
      const leaving = await deleteLeastUsed(db, excess)
      if (leaving.length === 0) return
      await evict(leaving)
      excess -= leaving.reduce((bytes, { sizeBytes }) => bytes + sizeBytes, 0)
    }
  }
  const size = countBytes(storage, cacheBytes)

  const store = async (file: StoredFile, { bytes, format, ...made }: Made): Promise<void> => {
    const { location } = file
    const name = newRenditionName(file.objectName, format)
    // A spool takes ownership of the bytes it is given, and these have yet to be sent.
    const copy = Readable.from([Buffer.from(bytes)])
    await using content = await spoolBytes(copy, storage.spoolFolder, { sha256: true })
    const checksumSha256 = content.sha256 ?? ''
    const contentType = `image/${format}`
    const key = besideKey(location, name)
    await providers.at(location).put(key, { content, contentType, checksumSha256 })
    failPoint('picture:put')
    await uses.write()
    const row = { ...made, name, sizeBytes: bytes.length, checksumSha256, usedAt: uses.now() }
    const recorded = await insertRendition(db, file, { ...row, limit: MAX_PER_PICTURE })
    failPoint('picture:row')
    if (!recorded) return providers.at(location).remove(key)
    await evict(recorded.forgotten)
    if (await size.isExceededBy(bytes.length)) await shrink()
  }

  return {
    use: ({ id }) => uses.add(id),
    shrink,
    async open({ location }, { name, sizeBytes }) {
      const range = { start: 0, end: sizeBytes - 1 }
      try {
        return await providers.at(location).read(besideKey(location, name), range)
      } catch (error) {
        if (!storageUnavailable.is(error)) throw error
        log.outages.failed({ ...UNREADABLE, err: error.cause, details: { name } })
        return undefined
      }
    },
    async keep(file, made) {
      if (made.bytes.length > cacheBytes) return
      await store(file, made).catch((err) =>
        log.outages.failed({ ...UNKEPT, err, details: { file: file.id } }),
      )
    },
    async forget({ id }) {
      const leaving = await deleteRendition(db, id).catch((error) => {
        if (databaseFault(error) === undefined) throw error
        log.warn({ err: error }, 'a rendition could not be forgotten')
      })
      if (leaving) await removeRenditions(storage, [leaving])
    },
  }
}

/**
 * When renditions were used, in memory first: a write for each use would cost more than the use. Dates
 * increase strictly, so that the order is known even within a millisecond.
 */
function createUses({ db, clock, log }: Storage) {
  let unwritten = new Map<number, string>()
  let writtenAt = clock()
  let latest = 0
  const now = () => {
    latest = Math.max(clock().getTime(), latest + 1)
    return new Date(latest).toISOString()
  }
  const write = async () => {
    const writing = unwritten
    unwritten = new Map()
    writtenAt = clock()
    if (writing.size > 0) await updateUsed(db, writing)
  }
  const add = (id: number) => {
    unwritten.set(id, now())
    const isDue = !isRecent(writtenAt, USES_SECONDS, clock())
    if (unwritten.size < MAX_USES && !isDue) return
    write().catch((error) => log.warn({ err: error }, 'uses of renditions could not be recorded'))
  }
  return { now, add, write }
}

/** An estimate of all renditions that is never too low for one node, so that few requests have to count. */
function countBytes({ db, clock }: Storage, cacheBytes: number) {
  let bytes = Number.POSITIVE_INFINITY
  let countedAt = new Date(0)
  const isExceededBy = async (added: number): Promise<boolean> => {
    bytes += added
    const isOld = !isRecent(countedAt, COUNTED_SECONDS, clock())
    if (bytes <= cacheBytes && !isOld) return false
    countedAt = clock()
    bytes = await sumRenditions(db)
    return bytes > cacheBytes
  }
  return { isExceededBy }
}
