import { defineProblem } from '@plinth/kit'

export type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>

const LONGEST_QUEUE = 512

const thumbnailsBusy = defineProblem(
  'THUMBNAILS_BUSY',
  503,
  'Too many thumbnails are being made. Try again in a moment.',
  { headers: { 'retry-after': '2' } },
)

/** Lets a few pieces of work run at once, keeps some waiting in order, and refuses the rest. */
export function createWorkQueue(atOnce: number): WorkQueue {
  const waiting: (() => void)[] = []
  let running = 0

  const enter = async () => {
    if (running < atOnce) running += 1
    else if (waiting.length >= LONGEST_QUEUE) throw thumbnailsBusy()
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
