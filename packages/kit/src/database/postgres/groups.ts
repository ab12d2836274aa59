import type { QueryResult } from 'kysely'
import { databaseUnavailable } from '../../problems.ts'
import { databaseFault, type Run } from '../engine.ts'
import type { PreparedQuery } from '../prepared.ts'
import { jointOf, memberKey } from './together.ts'

type Member<Item, Result> = {
  key: string
  item: Item
  timer: NodeJS.Timeout
  resolve(result: Result): void
  reject(error: unknown): void
}

const MAX_GROUP_SIZE = 32
/** Two, because one of them may be waiting for a lock held by another node. */
const MAX_IN_FLIGHT = 2

/**
 * Runs transactions, or single statements, that are requested in one turn of the event loop or while other
 * groups are in flight as one shared transaction. Members run concurrently, so two with the same key are
 * never in the same group, nor in two groups at the same time. None succeeds before the common commit.
 * When one fails nothing is committed, and each member must be retried alone.
 */
export class Groups<Item, Result> {
  readonly #runTogether: (items: Item[]) => Promise<Result[]>
  readonly #waitMs: number
  readonly #busy = new Set<string>()
  #waiting: Member<Item, Result>[] = []
  #inFlight = 0
  #isScheduled = false

  /** `waitMs`: how long a transaction waits for its turn, as it would for a connection. */
  constructor(runTogether: (items: Item[]) => Promise<Result[]>, waitMs: number) {
    this.#runTogether = runTogether
    this.#waitMs = waitMs
  }

  run(key: string, item: Item): Promise<Result> {
    const { promise, resolve, reject } = Promise.withResolvers<Result>()
    const giveUp = () => {
      this.#waiting = this.#waiting.filter((one) => one !== member)
      reject(databaseUnavailable())
    }
    const timer = setTimeout(giveUp, this.#waitMs)
    const member = { key, item, timer, resolve, reject }
    this.#waiting.push(member)
    this.#schedule()
    return promise
  }

  #schedule(): void {
    if (this.#isScheduled || this.#inFlight === MAX_IN_FLIGHT || this.#waiting.length === 0) return
    this.#isScheduled = true
    setImmediate(() => {
      this.#isScheduled = false
      const group = this.#next()
      if (group.length > 0) void this.#commit(group).then(() => this.#schedule())
      if (group.length === MAX_GROUP_SIZE) this.#schedule()
    })
  }

  /** Sorted by key, so that transactions of all nodes take their locks in the same order. */
  #next(): Member<Item, Result>[] {
    const group: Member<Item, Result>[] = []
    const left: Member<Item, Result>[] = []
    for (const member of this.#waiting) {
      const isFree = group.length < MAX_GROUP_SIZE && !this.#busy.has(member.key)
      if (isFree) this.#busy.add(member.key)
      ;(isFree ? group : left).push(member)
    }
    this.#waiting = left
    for (const { timer } of group) clearTimeout(timer)
    return group.sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  async #commit(group: Member<Item, Result>[]): Promise<void> {
    this.#inFlight += 1
    try {
      const results = await this.#runTogether(group.map(({ item }) => item))
      for (const [index, { resolve }] of group.entries()) resolve(results[index] as Result)
    } catch (error) {
      const reason = group.length > 1 && isMemberFailure(error) ? new GroupFailed(error) : error
      for (const { reject } of group) reject(reason)
    }
    this.#inFlight -= 1
    for (const { key } of group) this.#busy.delete(key)
  }
}

/** Nothing in the group was committed, because one of its members failed. */
export class GroupFailed extends Error {
  constructor(cause: unknown) {
    super('Another transaction of the same group failed.', { cause })
  }
}

/** Of a statement or a lock. */
const TIMEOUTS = new Set(['57014', '55P03'])

/** Whether the other members may still succeed, which they cannot when the database is gone or full. */
function isMemberFailure(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as { code?: string }
  return databaseFault(error) === undefined || TIMEOUTS.has(code)
}

type Result = QueryResult<unknown>

type Runners = { alone: Run; forSeveral: Run }

/**
 * Merges single-statement transactions into one where possible. When one makes its group fail, each runs
 * alone.
 */
export function coalesceStatements(
  runners: Runners,
  waitMs: number,
): (query: PreparedQuery) => Promise<Result> {
  const groups = new Map<string, Groups<PreparedQuery, Result>>()
  const groupFor = () =>
    new Groups<PreparedQuery, Result>((queries) => runMerged(runners, queries), waitMs)
  return async (query) => {
    if (!query.together) return runners.alone(query)
    const group = groups.getOrInsertComputed(query.sql, groupFor)
    return group.run(memberKey(query.together, query.parameters), query).catch((error) => {
      if (error instanceof GroupFailed) return runners.alone(query)
      throw error
    })
  }
}

async function runMerged(
  { alone, forSeveral }: Runners,
  queries: PreparedQuery[],
): Promise<Result[]> {
  if (queries.length === 1) return Promise.all(queries.map(alone))
  const joint = jointOf(queries)
  if (!joint) throw new Error('These statements cannot be merged.')
  const { rows } = await forSeveral(joint.query)
  return joint.answers(rows as Record<string, unknown>[]).map((own) => ({ rows: own }))
}
