import { AsyncLocalStorage } from 'node:async_hooks'

/** Milliseconds that the calls of an operation have taken so far. */
type Operation = { usedMilliseconds: number }

const current = new AsyncLocalStorage<Operation>()

/** All calls that `work` makes to the provider share one time limit. Without this, each call has its own. */
export function asOneOperation<T>(work: () => Promise<T>): Promise<T> {
  return current.run({ usedMilliseconds: 0 }, work)
}

/** Times one call of the operation, if there is one. */
export function startTiming(limitMilliseconds: number) {
  const operation = current.getStore() ?? { usedMilliseconds: 0 }
  const startedAt = performance.now()
  return {
    leftMilliseconds: Math.max(limitMilliseconds - operation.usedMilliseconds, 0),
    stop: () => {
      operation.usedMilliseconds += performance.now() - startedAt
    },
  }
}
