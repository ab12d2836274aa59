import { createFairQueue } from '@plinth/kit/runtime'
import { zipsBusy } from './problems.ts'

/** Of the archives that are being sent. Each entry is some hundred bytes of memory, until its client has read all. */
const MAX_ENTRIES = 100_000
const MAX_ENTRIES_OF_MAKER = 50_000
/** A maker of whom nothing is being sent gets an archive as small as this even when others have filled all room. */
const SMALL_ENTRIES = 10_000
const MAX_ENTRIES_WITH_SMALL = 2 * MAX_ENTRIES
const MAX_WAITING = 512
const MAX_WAITING_OF_MAKER = 128

/**
 * What archives may cost together. A token needs no user, so anyone who has one can open it as often as connections are
 * allowed: those of one maker are bounded, and leave room for those of others.
 */
export function createOpenArchives() {
  const turns = createTurns()
  const sent = counts()
  return {
    /** One after the other, because each reads thousands of rows; makers take turns. `left`: the client. */
    async prepare<T>(makerId: string, left: AbortSignal, work: () => Promise<T>): Promise<T> {
      const end = await turns.begin(makerId, left)
      try {
        return await work()
      } finally {
        end()
      }
    },
    /** Returns what to call when the archive has been sent. */
    admit(makerId: string, entries: number): () => void {
      // An archive as large as the settings allow is sent when there is no other.
      const isFirst = sent.of(makerId) === 0
      const isTooManyOfMaker = sent.of(makerId) + entries > MAX_ENTRIES_OF_MAKER
      const most = isFirst && entries <= SMALL_ENTRIES ? MAX_ENTRIES_WITH_SMALL : MAX_ENTRIES
      if ((!isFirst && isTooManyOfMaker) || (sent.all() > 0 && sent.all() + entries > most))
        throw zipsBusy()
      sent.add(makerId, entries)
      return () => sent.add(makerId, -entries)
    },
  }
}

export type OpenArchives = ReturnType<typeof createOpenArchives>

type Waiting = { begin(): void; refuse(): void }

/** One turn at a time. A client that leaves while it waits gets none. */
function createTurns() {
  const queue = createFairQueue<Waiting>(MAX_WAITING)
  const waiting = counts()
  let isTaken = false
  const next = () => {
    if (isTaken) return
    const entry = queue.shift()
    isTaken = entry !== undefined
    entry?.begin()
  }
  const end = () => {
    isTaken = false
    next()
  }
  return {
    /** Returns what to call at the end of the turn. */
    async begin(makerId: string, left: AbortSignal): Promise<() => void> {
      if (left.aborted || waiting.of(makerId) >= MAX_WAITING_OF_MAKER) throw zipsBusy()
      const { promise, resolve, reject } = Promise.withResolvers<void>()
      const entry = { begin: resolve, refuse: () => reject(zipsBusy()) }
      const leave = () => {
        queue.remove(makerId, entry)
        entry.refuse()
      }
      left.addEventListener('abort', leave, { once: true })
      waiting.add(makerId, 1)
      queue.push(makerId, entry)?.refuse()
      next()
      try {
        await promise
      } finally {
        waiting.add(makerId, -1)
        left.removeEventListener('abort', leave)
      }
      return end
    },
  }
}

function counts() {
  const counted = new Map<string, number>()
  let all = 0
  return {
    all: () => all,
    of: (makerId: string) => counted.get(makerId) ?? 0,
    add(makerId: string, count: number) {
      all += count
      const left = (counted.get(makerId) ?? 0) + count
      if (left === 0) counted.delete(makerId)
      else counted.set(makerId, left)
    },
  }
}
