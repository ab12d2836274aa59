import { availableParallelism } from 'node:os'
import { thumbnailsBusy } from '../files/problems.ts'
import { type Drawn, jpegFromImage, jpegFromPixels } from './image.ts'
import { firstPageOf } from './pdf-page.ts'

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

type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>

type QueueLimits = { atOnce: number; waiting: number; full: () => Error }

/** Lets a few pieces of work run at once, keeps some waiting in order, and refuses the rest. */
function createWorkQueue({ atOnce, waiting: longest, full }: QueueLimits): WorkQueue {
  const waiting: (() => void)[] = []
  let running = 0

  const enter = async () => {
    if (running < atOnce) running += 1
    else if (waiting.length >= longest) throw full()
    else await new Promise<void>((begin) => waiting.push(begin))
  }
  const leave = () => {
    const next = waiting.shift()
    if (next) next()
    else running -= 1
  }

  return async (work) => {
    await enter()
    try {
      return await work()
    } finally {
      leave()
    }
  }
}
