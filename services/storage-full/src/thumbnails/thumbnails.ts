import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { databaseFault } from '@plinth/kit/database'
import { storageFull, storageReadOnly } from '@plinth/kit/problems'
import { failPoint } from '@plinth/kit/runtime'
import { openBytes, spoolBytes } from '../files/bytes.ts'
import { updateThumbnail } from '../files/files.repository.ts'
import { type Storage, type StoredFile, thumbnailKey } from '../files/storage.ts'
import { asStorageFault } from '../locations/problems.ts'
import { type Drawn, jpegFromImage, jpegFromPixels } from './image.ts'
import { atItsPace, type Lanes, type Pace } from './lanes.ts'
import { firstPageOf } from './pdf-page.ts'

export const IMAGES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const PDF = 'application/pdf'

/** Most files take a tenth of the quick limit. */
const SECONDS: Record<Pace, number> = { quick: 1, slow: 5 }

export type Thumbnails = {
  /**
   * The file's JPEG thumbnail, made once and kept; undefined for a file that cannot have one. Making it
   * takes a turn of this user.
   */
  of(file: StoredFile, user: string): Promise<Buffer | undefined>
}

export function createThumbnails(storage: Storage, { pages, pictures }: Lanes): Thumbnails {
  const lanesOf = ({ contentType }: StoredFile) => (contentType === PDF ? pages : pictures)
  const inFlight = new Map<string, Promise<Buffer | undefined>>()

  /** Reads the file each time, so that what waits for the slow lane keeps no copy of it. */
  const draw = (file: StoredFile, user: string) =>
    atItsPace(lanesOf(file), user, async (pace, drawing) => {
      const bytes = await openBytes(storage, file)
      const options = { sha256: true, onDisk: true }
      await using original = await spoolBytes(bytes, storage.spoolFolder, options)
      failPoint('thumbnail:read')
      if (original.sha256 !== file.checksumSha256) return damaged(storage, file)
      const jpegOf = file.contentType === PDF ? jpegFromPage : jpegFromImage
      return await drawing(user, () => jpegOf(original.path, SECONDS[pace]))
    })

  const make = async (file: StoredFile, user: string): Promise<Buffer | undefined> => {
    const jpeg = await draw(file, user)
    if (jpeg === 'undecided') return undefined
    if (Buffer.isBuffer(jpeg)) await keepIfPossible(storage, file, jpeg)
    else await updateThumbnail(storage.db, file, 'impossible')
    return Buffer.isBuffer(jpeg) ? jpeg : undefined
  }

  const makeOnce = (file: StoredFile, user: string): Promise<Buffer | undefined> => {
    // By content: a file whose content was replaced meanwhile has another thumbnail.
    const known = inFlight.get(file.objectName)
    if (known) return known
    const making = make(file, user)
      .catch((error) => unlessUnwritable(storage, file, error))
      .finally(() => inFlight.delete(file.objectName))
    inFlight.set(file.objectName, making)
    return making
  }

  return {
    async of(file, user) {
      const { contentType, thumbnail } = file
      if (thumbnail === 'impossible') return undefined
      if (!IMAGES.has(contentType) && contentType !== PDF) return undefined
      return (thumbnail === 'kept' && (await readKept(storage, file))) || makeOnce(file, user)
    },
  }
}

/** On a full or read-only disk there is no thumbnail for now, but files can still be read. */
function unlessUnwritable({ log }: Storage, file: StoredFile, error: unknown): undefined {
  const isUnwritable = storageFull.is(error) || storageReadOnly.is(error)
  if (!isUnwritable && !['full', 'read-only'].includes(databaseFault(error) ?? '')) throw error
  const message = 'a thumbnail cannot be made, because nothing can be stored'
  log.outages.failed({ state: 'thumbnails', message, err: error, details: { file: file.id } })
}

/** Records nothing: the bytes may be repaired from a backup, and then have a thumbnail. */
function damaged({ log }: Storage, file: StoredFile): 'undecided' {
  log.error({ file: file.id }, 'no thumbnail, because the stored bytes are damaged')
  return 'undecided'
}

async function jpegFromPage(path: string, seconds: number): Promise<Drawn> {
  const page = await firstPageOf(path, seconds * 1000)
  return page && typeof page !== 'string' ? jpegFromPixels(page) : page
}

async function readKept(storage: Storage, file: StoredFile): Promise<Buffer | undefined> {
  const bytes = await storage.providers.at(file.location).read(thumbnailKey(file))
  if (bytes === undefined || Buffer.isBuffer(bytes)) return bytes
  return buffer(bytes).catch((error) => Promise.reject(asStorageFault(error)))
}

/** The caller gets the thumbnail even when the store does not accept it. */
async function keepIfPossible(storage: Storage, file: StoredFile, jpeg: Buffer): Promise<void> {
  const message = 'a thumbnail could not be kept'
  await keep(storage, file, jpeg).catch((err) =>
    storage.log.outages.failed({
      state: 'kept thumbnails',
      message,
      err,
      details: { file: file.id },
    }),
  )
}

/** A file that was deleted or moved while its thumbnail was made must not leave one behind. */
async function keep(storage: Storage, file: StoredFile, jpeg: Buffer): Promise<void> {
  const provider = storage.providers.at(file.location)
  // A spool takes ownership of the bytes it is given, and these have yet to be sent.
  const copy = Readable.from([Buffer.from(jpeg)])
  await using content = await spoolBytes(copy, storage.spoolFolder, { sha256: true })
  const checksumSha256 = content.sha256 ?? ''
  await provider.put(thumbnailKey(file), { content, contentType: 'image/jpeg', checksumSha256 })
  failPoint('thumbnail:put')
  const kept = await updateThumbnail(storage.db, file, 'kept')
  failPoint('thumbnail:row')
  if (!kept) await provider.remove(thumbnailKey(file))
}

/** A placeholder that shows the type, for files that have no thumbnail. */
export function fallbackPicture(extension: string): string {
  const label = extension.replace(/[^a-z0-9]/gi, '').toUpperCase()
  return [
    '<svg xmlns="http://www.w3.org/2000/svg" width="256" height="256" viewBox="0 0 256 256"',
    ` role="img" aria-label="${label} file">`,
    '<rect width="256" height="256" fill="#f1f3f5"/>',
    '<path d="M72 40h76l36 36v140H72z" fill="#fff" stroke="#868e96" stroke-width="4"/>',
    '<path d="M148 40v36h36" fill="none" stroke="#868e96" stroke-width="4"/>',
    '<text x="128" y="160" text-anchor="middle" font-family="sans-serif" font-size="36"',
    ` font-weight="700" fill="#495057">${label}</text></svg>`,
  ].join('')
}
