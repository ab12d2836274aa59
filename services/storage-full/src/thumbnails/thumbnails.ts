import { Readable } from 'node:stream'
import { buffer } from 'node:stream/consumers'
import { failPoint } from '@plinth/kit'
import { asStorageFault, originalOnDisk, spoolBytes } from '../files/bytes.ts'
import { updateThumbnail } from '../files/files.repository.ts'
import { type Storage, type StoredFile, thumbnailKey } from '../files/storage.ts'
import { canHaveThumbnail, jpegOf } from './maker.ts'

/** The file's JPEG thumbnail, made once and kept; nothing for a file that cannot have one. */
export async function thumbnailOf(storage: Storage, file: StoredFile): Promise<Buffer | undefined> {
  if (!canHaveThumbnail(file.contentType) || file.thumbnail === 'impossible') return undefined
  return (await keptThumbnail(storage, file)) ?? makeOnce(storage, file)
}

async function keptThumbnail(storage: Storage, file: StoredFile): Promise<Buffer | undefined> {
  if (file.thumbnail !== 'kept') return undefined
  const bytes = await storage.providers.at(file.location).open(thumbnailKey(file))
  return bytes && buffer(bytes).catch((error) => Promise.reject(asStorageFault(error)))
}

/** However many ask for it at the same time. */
function makeOnce(storage: Storage, file: StoredFile): Promise<Buffer | undefined> {
  const { fetching, underWay } = storage.thumbnails
  let making = underWay.get(file.id)
  if (!making) {
    making = fetching(() => makeThumbnail(storage, file)).finally(() => underWay.delete(file.id))
    underWay.set(file.id, making)
  }
  return making
}

async function makeThumbnail(storage: Storage, file: StoredFile): Promise<Buffer | undefined> {
  await using original = await originalOnDisk(storage, file)
  failPoint('thumbnail:read')
  const { drawing } = storage.thumbnails
  const jpeg = await drawing(() => jpegOf(original.path, file.contentType))
  if (jpeg === 'undecided') return undefined
  if (jpeg) await keepIfPossible(storage, file, jpeg)
  else await updateThumbnail(storage.db, file, 'impossible')
  return jpeg
}

/** A store that takes nothing now is no reason to keep from the caller what is there. */
async function keepIfPossible(storage: Storage, file: StoredFile, jpeg: Buffer): Promise<void> {
  await keepThumbnail(storage, file, jpeg).catch((error) =>
    storage.log.warn({ err: error, file: file.id }, 'a thumbnail could not be kept'),
  )
}

/** A file that was deleted or moved while its thumbnail was made must not leave one behind. */
async function keepThumbnail(storage: Storage, file: StoredFile, jpeg: Buffer): Promise<void> {
  const provider = storage.providers.at(file.location)
  // A spool takes over the bytes it is given, and these are still to be sent.
  const given = Readable.from([Buffer.from(jpeg)])
  await using content = await spoolBytes(given, storage.spoolFolder, { sha256: true })
  const checksumSha256 = content.sha256 ?? ''
  await provider.put(thumbnailKey(file), { content, contentType: 'image/jpeg', checksumSha256 })
  failPoint('thumbnail:put')
  const kept = await updateThumbnail(storage.db, file, 'kept')
  failPoint('thumbnail:row')
  if (!kept) await provider.remove(thumbnailKey(file))
}

/** A drawn sheet with the type on it, for files that have no thumbnail. */
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
