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
  const find = async (file: StoredFile, asked: Asked): Promise<Representation> => {
    if (!IMAGES.has(file.contentType)) throw noPicture()
    const { parameters, user } = asked
    const wanted = { parameters, named: formatsNamedIn(asked.accept) }
    const { spellings, chosen, renditions } = await choose(storage, file, { ...wanted, sizes })
    if (chosen && asked.isHeld(entityTagOf(file.checksumSha256, chosen.parameters))) {
      count('unchanged')
      return unsent(file, chosen)
    }
    const kept = chosen && (await openKept(cache, file, renditions.get(chosen.parameters)))
    if (chosen && kept) {
      count('kept')
      return keptOf(file, chosen, kept)
    }
    const made = await make(file, { ...wanted, user, spellings })
    count('made')
    return madeOf(file, made)
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

type Choice = {
  spellings: string[]
  chosen: Chosen | undefined
  renditions: ReadonlyMap<string, Rendition>
}

async function choose(
  { db }: Storage,
  { objectName }: StoredFile,
  { parameters, named, sizes }: Wanted & { sizes: number[] },
): Promise<Choice> {
  const possible = possibleFormats(parameters, named).map((format) => spelled(parameters, format))
  const known = await findKnown(db, objectName, possible)
  if (!known) return { spellings: possible, chosen: undefined, renditions: new Map() }
  if (!known.facts) throw noPicture()
  const outcome = outcomeFor(parameters, named, known.facts)
  if (!outcome) throw tooLargeForAvif(sizes)
  const { format } = outcome
  const spelling = spelled(parameters, format)
  const chosen = { format, parameters: spelling }
  return { spellings: [spelling], chosen, renditions: known.renditions }
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
