import { zipsBusy } from './problems.ts'

/** Of the archives that are being sent. Each entry is some hundred bytes of memory, until its client has read all. */
const MAX_ENTRIES = 100_000
const MAX_ENTRIES_OF_MAKER = 50_000
const MAX_WAITING_OF_MAKER = 32

/**
 * What archives may cost together. A token needs no user, so anyone who has one can open it as often as connections are
 * allowed: those of one maker are bounded, and leave room for those of others.
 */
export function createOpenArchives() {
  const waiting = counts()
  const sent = counts()
  let last: Promise<unknown> = Promise.resolve()
  return {
    /** One after the other: each reads thousands of rows. */
    async prepare<T>(makerId: string, work: () => Promise<T>): Promise<T> {
      if (waiting.of(makerId) >= MAX_WAITING_OF_MAKER) throw zipsBusy()
      waiting.add(makerId, 1)
      const prepared = last.then(work).finally(() => waiting.add(makerId, -1))
      last = prepared.catch(() => {})
      return prepared
    },
    /** Returns what to call when the archive has been sent. */
    admit(makerId: string, entries: number): () => void {
      // An archive as large as the settings allow is sent when there is no other.
      const isFirst = sent.of(makerId) === 0
      const isTooMany = sent.of(makerId) + entries > MAX_ENTRIES_OF_MAKER
      if ((!isFirst && isTooMany) || (sent.all() > 0 && sent.all() + entries > MAX_ENTRIES))
        throw zipsBusy()
      sent.add(makerId, entries)
      return () => sent.add(makerId, -entries)
    },
  }
}

export type OpenArchives = ReturnType<typeof createOpenArchives>

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
