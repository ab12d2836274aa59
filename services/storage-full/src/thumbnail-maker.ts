import { availableParallelism } from 'node:os'
import { firstPageOf } from './pdf-page.ts'
import { thumbnailsBusy } from './problems.ts'
import { jpegFromImage, jpegFromPixels } from './thumbnail-image.ts'
import { createWorkQueue, type WorkQueue } from './work-queue.ts'

const IMAGES = new Set(['image/png', 'image/jpeg', 'image/webp', 'image/gif'])
const PDF = 'application/pdf'
const LONGEST_QUEUE = 512

/** One core is left for requests; more pictures at once would take longer, not shorter. */
export function createThumbnailQueue(): WorkQueue {
  return createWorkQueue({
    atOnce: Math.max(1, availableParallelism() - 1),
    waiting: LONGEST_QUEUE,
    full: thumbnailsBusy,
  })
}

export function canHaveThumbnail(contentType: string): boolean {
  return IMAGES.has(contentType) || contentType === PDF
}

/** A small JPEG of the file, or nothing when it cannot be decoded within the limits. */
export async function jpegOf(path: string, contentType: string): Promise<Buffer | undefined> {
  if (contentType !== PDF) return jpegFromImage(path)
  const page = await firstPageOf(path)
  return page && jpegFromPixels(page)
}
