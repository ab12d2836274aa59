import { failPoint } from '@plinth/kit/runtime'
import { openBytes, spoolBytes } from '../files/bytes.ts'
import type { Storage, StoredFile } from '../files/storage.ts'
import type { PictureParameters } from '../picture-settings.ts'
import { atItsPace, type PacedLanes } from '../thumbnails/lanes.ts'
import { thumbnailsBusy } from '../thumbnails/queue.ts'
import type { RenditionCache } from './cache.ts'
import { drawPicture } from './draw.ts'
import { type Facts, type Format, outcomeFor, spelled } from './outcome.ts'
import { noPicture, picturesBusy, tooLargeForAvif } from './problems.ts'
import { upsertFacts } from './renditions.repository.ts'

/** `named`: the formats that the client names. */
export type Wanted = { parameters: PictureParameters; named: ReadonlySet<Format> }

export type Made = { format: Format; parameters: string; bytes: Buffer }

type Order = Wanted & {
  /** Equal for requests that lead to the same rendition. */
  spellings: string[]
  /** Whose turn it takes. */
  user: string
}

/** Draws a rendition and keeps it. Equal requests share one making. */
export type Making = (file: StoredFile, order: Order) => Promise<Made>

type Options = { cache: RenditionCache; lanes: PacedLanes; sizes: number[] }

export function createMaking(storage: Storage, { cache, lanes, sizes }: Options): Making {
  const inFlight = new Map<string, Promise<Made>>()

  /** Reads the file each time, so that what waits for the slow lane keeps no copy of it. */
  const draw = (file: StoredFile, { parameters, named, user }: Order) =>
    atItsPace(lanes, user, async (pace, drawing) => {
      const bytes = await openBytes(storage, file)
      const options = { sha256: true, onDisk: true }
      await using original = await spoolBytes(bytes, storage.spoolFolder, options)
      failPoint('picture:read')
      if (original.sha256 !== file.checksumSha256) throw damaged(storage, file)
      const decide = (facts: Facts) => outcomeFor(parameters, named, facts)
      return await drawing(user, () => drawPicture(original.path, { pace, decide }))
    })

  const make = async (file: StoredFile, order: Order): Promise<Made> => {
    const { parameters } = order
    const result = await draw(file, order)
    const drawing = result === 'late' ? undefined : result
    if (drawing === 'undecided') throw picturesBusy()
    if (!drawing?.drawn) await recordIfPossible(storage, file, drawing?.facts)
    if (!drawing) throw noPicture()
    if (!drawing.drawn) throw tooLargeForAvif(sizes)
    const made = { ...drawing.drawn, parameters: spelled(parameters, drawing.drawn.format) }
    await cache.keep(file, { ...made, facts: drawing.facts })
    return made
  }

  return (file, order) => {
    const name = [file.objectName, ...order.spellings].join('\n')
    const known = inFlight.get(name)
    if (known) return known
    const making = make(file, order)
      .catch((error) => {
        throw thumbnailsBusy.is(error) ? picturesBusy() : error
      })
      .finally(() => inFlight.delete(name))
    inFlight.set(name, making)
    return making
  }
}

/** Records nothing: the bytes may be repaired from a backup. */
function damaged({ log }: Storage, file: StoredFile) {
  log.error({ file: file.id }, 'no picture, because the stored bytes are damaged')
  return noPicture()
}

/** So that the next request costs nothing; without it the answer is the same. */
async function recordIfPossible(storage: Storage, file: StoredFile, facts: Facts | undefined) {
  const message = 'what a picture is could not be recorded'
  await upsertFacts(storage.db, file, facts).catch((err) =>
    storage.log.outages.failed({
      state: 'picture facts',
      message,
      err,
      details: { file: file.id },
    }),
  )
}
