export type WorkQueue = <T>(work: () => Promise<T>) => Promise<T>

type QueueLimits = { atOnce: number; waiting: number; full: () => Error }

/** Lets a few pieces of work run at once, keeps some waiting in order, and refuses the rest. */
export function createWorkQueue({ atOnce, waiting: longest, full }: QueueLimits): WorkQueue {
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
