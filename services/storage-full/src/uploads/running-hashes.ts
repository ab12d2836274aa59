import { type RunningSums, runningSums, type Sums } from '../files/sums.ts'

/** An upload beyond this is hashed again from its bytes. */
const MAX_REMEMBERED = 1_000

export type RunningHashes = {
  /** The sums of everything before `offset`, if this process has seen all of it. Others get it once it is kept. */
  take(id: string, offset: number): RunningSums | undefined
  keep(id: string, offset: number, sums: RunningSums): void
  digest(id: string, length: number): Sums | undefined
  forget(id: string): void
}

/**
 * The sums of files whose bytes are still arriving. Node cannot save the state of a hash, so it lives in the
 * process that has seen every byte; otherwise the bytes are read again at the end.
 */
export function runningHashes(): RunningHashes {
  const running = new Map<string, { offset: number; sums: RunningSums }>()
  const forget = (id: string) => void running.delete(id)
  return {
    take(id, offset) {
      const known = running.get(id)
      forget(id)
      if (offset === 0) return runningSums()
      return known?.offset === offset ? known.sums : undefined
    },
    keep(id, offset, sums) {
      forget(id)
      running.set(id, { offset, sums })
      const [oldest] = running.keys()
      if (running.size > MAX_REMEMBERED && oldest !== undefined) forget(oldest)
    },
    digest(id, length) {
      const known = running.get(id)
      return known?.offset === length ? known.sums.digest() : undefined
    },
    forget,
  }
}
