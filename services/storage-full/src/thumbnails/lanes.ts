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

/** `quick`: within a second or so. `slow`: within the limits. */
export type Pace = 'quick' | 'slow'

export type PacedLanes = Record<Pace, Lane>

/**
 * A page of a PDF can take seconds and a picture rarely does, so pages never keep pictures waiting. What proves slow
 * moves to a lane of its own, where it keeps only other slow work waiting.
 */
export type Lanes = { pages: PacedLanes; pictures: PacedLanes }

/** One set for all that is drawn: two features with queues of their own would use the cores twice. */
export function createLanes(): Lanes {
  const { pagesAtOnce, picturesAtOnce } = shareOfCores(availableParallelism())
  return {
    pages: { quick: createLane(pagesAtOnce), slow: createLane(1) },
    pictures: { quick: createLane(picturesAtOnce), slow: createLane(1) },
  }
}

/**
 * Makes something in the quick lane and, if it is late there, once more in the slow lane. In between it holds neither
 * a place nor a copy of its file.
 */
export async function atItsPace<T>(
  lanes: PacedLanes,
  user: string,
  make: (pace: Pace, drawing: WorkQueue) => Promise<T | 'late'>,
): Promise<T | 'late'> {
  const inLane = (pace: Pace) => lanes[pace].fetching(user, () => make(pace, lanes[pace].drawing))
  const made = await inLane('quick')
  return made === 'late' ? inLane('slow') : made
}
