import { contentDisposition, type FileBody, type Representation } from '@plinth/kit/files'
import type { Storage, StoredFile } from '../files/storage.ts'
import type { PictureParameters } from '../picture-settings.ts'
import { IMAGES } from '../thumbnails/thumbnails.ts'
import type { RenditionCache } from './cache.ts'
import type { Made, Making, Wanted } from './making.ts'
import {
  entityTagOf,
  type Format,
  formatsNamedIn,
  outcomeFor,
  possibleFormats,
  spelled,
} from './outcome.ts'
import { noPicture, pictureNotOffered, picturesBusy, tooLargeForAvif } from './problems.ts'
import { createRecent } from './recent.ts'
import { findKnown, type Rendition } from './renditions.repository.ts'

export type Asked = {
  parameters: PictureParameters
  accept: string | undefined
  /** Whose turn drawing takes. */
  user: string
  /** Whether the client has the representation with this entity tag. */
  isHeld(etag: string): boolean
}

export type Pictures = {
  /** Made once and kept. Throws NO_PICTURE for a file that cannot be drawn. */
  of(file: StoredFile, asked: Asked): Promise<Representation>
}

export type PictureResult = 'made' | 'kept' | 'unchanged' | 'none' | 'busy' | 'failed'

type Options = {
  cache: RenditionCache
  make: Making
  sizes: number[]
  count(result: PictureResult): void
}

export function createPictures(storage: Storage, { cache, make, sizes, count }: Options): Pictures {
  // What is kept for an object stays true until it is removed, which reading it shows.
  const recent = createRecent<KeptChoice>()

  const find = async (file: StoredFile, asked: Asked): Promise<Representation> => {
    if (!IMAGES.has(file.contentType)) throw noPicture()
    const { parameters, user } = asked
    const wanted = { parameters, named: formatsNamedIn(asked.accept) }
    const possible = possibleFormats(parameters, wanted.named)
    const spellings = possible.map((format) => spelled(parameters, format))
    const name = [file.objectName, ...spellings].join('\n')
    const known = recent.get(name)
    if (known) {
      const sent = await fromKept(file, asked, known)
      if (sent) return sent
      recent.delete(name)
    }
    const { chosen, rendition } = await choose(storage, file, { ...wanted, sizes, spellings })
    const sent = chosen && (await fromKept(file, asked, { chosen, rendition }))
    if (chosen && rendition && sent) recent.set(name, { chosen, rendition })
    if (sent) return sent
    const order = { ...wanted, user, spellings: chosen ? [chosen.parameters] : spellings }
    const made = await make(file, order)
    count('made')
    return madeOf(file, made)
  }

  /** Without drawing; undefined if that is not possible. */
  const fromKept = async (file: StoredFile, asked: Asked, { chosen, rendition }: KeptChoice) => {
    if (asked.isHeld(entityTagOf(file.checksumSha256, chosen.parameters))) {
      count('unchanged')
      return unsent(file, chosen)
    }
    const kept = await openKept(cache, file, rendition)
    if (kept) count('kept')
    return kept && keptOf(file, chosen, kept)
  }

  return {
    of: (file, asked) =>
      find(file, asked).catch((error) => {
        if (noPicture.is(error)) count('none')
        else if (!pictureNotOffered.is(error)) count(picturesBusy.is(error) ? 'busy' : 'failed')
        throw error
      }),
  }
}

/** The rendition that a request leads to; undefined while the picture is unknown. */
type Chosen = { format: Format; parameters: string }

type KeptChoice = { chosen: Chosen; rendition: Rendition | undefined }

async function choose(
  { db }: Storage,
  { objectName }: StoredFile,
  { parameters, named, sizes, spellings }: Wanted & { sizes: number[]; spellings: string[] },
): Promise<Partial<KeptChoice>> {
  const known = await findKnown(db, objectName, spellings)
  if (!known) return {}
  if (!known.facts) throw noPicture()
  const outcome = outcomeFor(parameters, named, known.facts)
  if (!outcome) throw tooLargeForAvif(sizes)
  const chosen = { format: outcome.format, parameters: spelled(parameters, outcome.format) }
  return { chosen, rendition: known.renditions.get(chosen.parameters) }
}

type Kept = { rendition: Rendition; body: FileBody }

/** One whose bytes are gone or damaged is forgotten, and made again. */
async function openKept(
  cache: RenditionCache,
  file: StoredFile,
  rendition: Rendition | undefined,
): Promise<Kept | undefined> {
  if (!rendition) return undefined
  const body = await cache.open(file, rendition)
  if (body) cache.use(rendition)
  else await cache.forget(rendition)
  return body && { rendition, body }
}

/** For a client that has the picture already. */
function unsent(file: StoredFile, chosen: Chosen): Representation {
  return representationOf(file, { ...chosen, sizeBytes: 0, open: () => Buffer.alloc(0) })
}

function madeOf(file: StoredFile, { bytes, ...chosen }: Made): Representation {
  const open = (start: number, end: number) => bytes.subarray(start, end + 1)
  return representationOf(file, { ...chosen, sizeBytes: bytes.length, open })
}

function keptOf(file: StoredFile, chosen: Chosen, { rendition, body }: Kept): Representation {
  if (Buffer.isBuffer(body)) return madeOf(file, { ...chosen, bytes: body })
  const { sizeBytes, checksumSha256: sha256 } = rendition
  return representationOf(file, {
    ...{ ...chosen, sizeBytes, sha256 },
    // A rendition is small: what a range leaves out is read and dropped.
    open: (start, end) => (end - start + 1 === sizeBytes ? body : body.compose(part(start, end))),
    close: async () => void body.destroy(),
  })
}

/** Passes on the bytes from `start` to `end`, both included. */
function part(start: number, end: number) {
  return async function* (chunks: AsyncIterable<Buffer>) {
    let position = 0
    for await (const chunk of chunks) {
      yield chunk.subarray(Math.max(0, start - position), Math.max(0, end + 1 - position))
      position += chunk.length
    }
  }
}

type Bytes = Pick<Representation, 'sizeBytes' | 'open' | 'close' | 'sha256'>

function representationOf(
  { checksumSha256, originalFilename }: StoredFile,
  { format, parameters, ...bytes }: Chosen & Bytes,
): Representation {
  const name = originalFilename.replace(/\.[^.]*$/, '')
  return {
    ...bytes,
    etag: entityTagOf(checksumSha256, parameters),
    lastModified: undefined,
    mediaType: `image/${format}`,
    disposition: contentDisposition('inline', `${name}.${format === 'jpeg' ? 'jpg' : format}`),
  }
}
