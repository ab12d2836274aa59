import { availableParallelism } from 'node:os'
import { createWorkQueue, type WorkQueue } from './queue.ts'

const FETCHED_AT_ONCE = 16
const FETCHED_PER_USER = 4

/** Draws on all cores but one, which is left for requests, if there are three or more. */
export function shareOfCores(cores: number) {
  const pagesAtOnce = Math.max(1, Math.floor((cores - 1) / 2))
  return { pagesAtOnce, picturesAtOnce: Math.max(1, cores - 1 - pagesAtOnce) }
}

export type Lane = { fetching: WorkQueue; drawing: WorkQueue }

/** Two queues, so that a store that hangs delays fetching but not drawing. */
function createLane(drawnAtOnce: number): Lane {
  return {
    fetching: createWorkQueue(FETCHED_AT_ONCE, { perUser: FETCHED_PER_USER }),
    drawing: createWorkQueue(drawnAtOnce),
  }
}

/**
 * A page of a PDF can take seconds and a picture rarely does, so pages never keep pictures waiting, nor slow pages
 * others.
 */
export type Lanes = { pages: Lane; slowPages: WorkQueue; pictures: Lane }

/** One pair for all that is drawn: two features with queues of their own would use the cores twice. */
export function createLanes(): Lanes {
  const { pagesAtOnce, picturesAtOnce } = shareOfCores(availableParallelism())
  return {
    pages: createLane(pagesAtOnce),
    slowPages: createWorkQueue(1),
    pictures: createLane(picturesAtOnce),
  }
}
