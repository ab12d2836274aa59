import { databaseUnavailable } from '../../problems.ts'
import { currentTrace, inTrace } from '../../tracing/trace-context.ts'
import { databaseFault, type Run } from '../engine.ts'

type Work = (run: Run) => Promise<unknown>

type Member = {
  key: string
  work: Work
  timer: NodeJS.Timeout
  resolve(result: unknown): void
  reject(error: unknown): void
}

const MOST_TOGETHER = 32
/** One of them may wait for a lock of another node. */
const MOST_AT_ONCE = 2

/**
 * Transactions that share one when they are asked for in one turn of the event loop, or while others
 * are under way. They run at the same time, so two with the same key never share one, nor do they run
 * side by side. None succeeds before the common commit. When one fails nothing is committed, and each
 * is to run again alone.
 */
export class Groups {
  readonly #runTogether: (works: Work[]) => Promise<unknown[]>
  readonly #waitMs: number
  readonly #busy = new Set<string>()
  #waiting: Member[] = []
  #underWay = 0
  #isPlanned = false

  /** `waitMs`: how long a transaction waits for its turn, as it would for a connection. */
  constructor(runTogether: (works: Work[]) => Promise<unknown[]>, waitMs: number) {
    this.#runTogether = runTogether
    this.#waitMs = waitMs
  }

  run(key: string, work: Work): Promise<unknown> {
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    // Whichever member came first runs the others: each keeps its own trace.
    const trace = currentTrace()
    const inOwnTrace: Work = (run) => inTrace(trace, () => work(run))
    const giveUp = () => {
      this.#waiting = this.#waiting.filter((one) => one !== member)
      reject(databaseUnavailable())
    }
    const timer = setTimeout(giveUp, this.#waitMs)
    const member = { key, work: inOwnTrace, timer, resolve, reject }
    this.#waiting.push(member)
    this.#plan()
    return promise
  }

  #plan(): void {
    if (this.#isPlanned || this.#underWay === MOST_AT_ONCE || this.#waiting.length === 0) return
    this.#isPlanned = true
    setImmediate(() => {
      this.#isPlanned = false
      const group = this.#next()
      if (group.length > 0) void this.#commit(group).then(() => this.#plan())
      if (group.length === MOST_TOGETHER) this.#plan()
    })
  }

  /** In the order of their keys, as every node takes their locks. */
  #next(): Member[] {
    const group: Member[] = []
    const left: Member[] = []
    for (const member of this.#waiting) {
      const isFree = group.length < MOST_TOGETHER && !this.#busy.has(member.key)
      if (isFree) this.#busy.add(member.key)
      ;(isFree ? group : left).push(member)
    }
    this.#waiting = left
    for (const { timer } of group) clearTimeout(timer)
    return group.sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  async #commit(group: Member[]): Promise<void> {
    this.#underWay += 1
    try {
      const results = await this.#runTogether(group.map(({ work }) => work))
      for (const [place, { resolve }] of group.entries()) resolve(results[place])
    } catch (error) {
      const reason = group.length > 1 && isOfOne(error) ? new GroupFailed(error) : error
      for (const { reject } of group) reject(reason)
    }
    this.#underWay -= 1
    for (const { key } of group) this.#busy.delete(key)
  }
}

/** Nothing of a group was committed, because of one of its members. */
export class GroupFailed extends Error {
  constructor(cause: unknown) {
    super('Another transaction of the same group failed.', { cause })
  }
}

const TOOK_TOO_LONG = '57014'

/** The others may succeed; not so when the database is gone, or has no room. */
function isOfOne(error: unknown): boolean {
  const { code } = (error ?? {}) as { code?: string }
  return databaseFault(error) === undefined || code === TOOK_TOO_LONG
}
