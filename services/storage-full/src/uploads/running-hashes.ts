import { createHash, type Hash } from 'node:crypto'

/** An upload beyond this is hashed again from its bytes. */
const MAX_REMEMBERED = 1_000

export type RunningHashes = {
  /** A hash of everything before `offset`, if this process has seen all of it. Nobody else gets it until it is kept. */
  take(id: string, offset: number): Hash | undefined
  keep(id: string, offset: number, hash: Hash): void
  digest(id: string, length: number): string | undefined
  forget(id: string): void
}

/**
 * The SHA-256 of files whose bytes are still arriving. Node cannot save the state of a hash, so it lives in the
 * process that has seen every byte; otherwise the bytes are read again at the end.
 */
export function runningHashes(): RunningHashes {
  const running = new Map<string, { offset: number; hash: Hash }>()
  const forget = (id: string) => void running.delete(id)
  return {
    take(id, offset) {
      const known = running.get(id)
      forget(id)
      if (offset === 0) return createHash('sha256')
      return known?.offset === offset ? known.hash : undefined
    },
    keep(id, offset, hash) {
      forget(id)
      running.set(id, { offset, hash })
      const [oldest] = running.keys()
      if (running.size > MAX_REMEMBERED && oldest !== undefined) forget(oldest)
    },
    digest(id, length) {
      const known = running.get(id)
      return known?.offset === length ? known.hash.copy().digest('hex') : undefined
    },
    forget,
  }
}
