import { defineProblem } from '@plinth/kit/problems'
import { createFairQueue } from '@plinth/kit/runtime'

export type WorkQueue = <T>(user: string, work: () => Promise<T>) => Promise<T>

const MAX_WAITING = 512

export const thumbnailsBusy = defineProblem(
  'THUMBNAILS_BUSY',
  503,
  'Too many thumbnails are being made. Try again in a moment.',
  { headers: { 'retry-after': '2' } },
)

/**
 * Runs at most `atOnce` tasks at a time, and at most `perUser` for one user. Users take turns; when too
 * many tasks are waiting, one of the user with the most is refused.
 */
export function createWorkQueue(atOnce: number, { perUser = atOnce } = {}): WorkQueue {
  const waiting = createFairQueue<{ user: string; begin(): void; refuse(): void }>(MAX_WAITING)
  const running = new Map<string, number>()
  let total = 0
  const count = (user: string) => running.get(user) ?? 0
  const isReady = (user: string) => count(user) < perUser

  const startNext = () => {
    if (total >= atOnce) return
    const next = waiting.shift(isReady)
    if (!next) return
    total += 1
    running.set(next.user, count(next.user) + 1)
    next.begin()
  }
  const leave = (user: string) => {
    total -= 1
    if (count(user) === 1) running.delete(user)
    else running.set(user, count(user) - 1)
    startNext()
  }

  return async (user, work) => {
    const { promise, resolve, reject } = Promise.withResolvers<void>()
    const refuse = () => reject(thumbnailsBusy())
    waiting.push(user, { user, begin: resolve, refuse })?.refuse()
    startNext()
    await promise
    try {
      return await work()
    } finally {
      leave(user)
    }
  }
}
