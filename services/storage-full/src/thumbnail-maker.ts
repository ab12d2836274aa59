import { availableParallelism } from 'node:os'
import { firstPageOf } from './pdf-page.ts'
import { thumbnailsBusy } from './problems.ts'
import { type Drawn, jpegFromImage, jpegFromPixels } from './thumbnail-image.ts'
import { createWorkQueue, type WorkQueue } from './work-queue.ts'

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const PDF = 'application/pdf'
const FETCHED_AT_ONCE = 16
const LONGEST_QUEUE = 512

export type ThumbnailWork = {
  /** Files that are being fetched and drawn; a store that hangs holds up a few, not all. */
  fetching: WorkQueue
  /** Those of them that use the processor. */
  drawing: WorkQueue
  /** What is asked for twice is made once. */
  underWay: Map<number, Promise<Buffer | undefined>>
}

/** One core is left for requests; more pictures at once would take longer, not shorter. */
export function createThumbnailWork(cores = availableParallelism()): ThumbnailWork {
  const limits = { waiting: LONGEST_QUEUE, full: thumbnailsBusy }
  return {
    fetching: createWorkQueue({ ...limits, atOnce: FETCHED_AT_ONCE }),
    drawing: createWorkQueue({ ...limits, atOnce: Math.max(1, cores - 1) }),
    underWay: new Map(),
  }
}

export function canHaveThumbnail(contentType: string): boolean {
  return IMAGES.has(contentType) || contentType === PDF
}

/** A small JPEG of the file, or nothing when it cannot be decoded within the limits. */
export async function jpegOf(path: string, contentType: string): Promise<Drawn> {
  if (contentType !== PDF) return jpegFromImage(path)
  const page = await firstPageOf(path)
  return page && page !== 'undecided' ? jpegFromPixels(page) : page
}
