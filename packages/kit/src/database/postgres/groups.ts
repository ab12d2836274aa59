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

const MOST_TOGETHER = 32
/** One of them may wait for a lock of another node. */
const MOST_AT_ONCE = 2

/**
 * Transactions, or statements that are one each, that share one when they are asked for in one turn of
 * the event loop, or while others are under way. They run at the same time, so two with the same key
 * never share one, nor do they run side by side. None succeeds before the common commit. When one fails
 * nothing is committed, and each is to run again alone.
 */
export class Groups<Item, Result> {
  readonly #runTogether: (items: Item[]) => Promise<Result[]>
  readonly #waitMs: number
  readonly #busy = new Set<string>()
  #waiting: Member<Item, Result>[] = []
  #underWay = 0
  #isPlanned = false

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

  /** In the order of their keys, as transactions of every node take their locks. */
  #next(): Member<Item, Result>[] {
    const group: Member<Item, Result>[] = []
    const left: Member<Item, Result>[] = []
    for (const member of this.#waiting) {
      const isFree = group.length < MOST_TOGETHER && !this.#busy.has(member.key)
      if (isFree) this.#busy.add(member.key)
      ;(isFree ? group : left).push(member)
    }
    this.#waiting = left
    for (const { timer } of group) clearTimeout(timer)
    return group.sort((one, other) => (one.key < other.key ? -1 : 1))
  }

  async #commit(group: Member<Item, Result>[]): Promise<void> {
    this.#underWay += 1
    try {
      const results = await this.#runTogether(group.map(({ item }) => item))
      for (const [place, { resolve }] of group.entries()) resolve(results[place] as Result)
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

type Result = QueryResult<unknown>

type Ways = { alone: Run; forSeveral: Run }

/**
 * Runs statements that are a transaction each as one where they can be, and each alone where one would
 * make the others fail.
 */
export function sharing(ways: Ways, waitMs: number): (query: PreparedQuery) => Promise<Result> {
  const groups = new Map<string, Groups<PreparedQuery, Result>>()
  const groupFor = () => new Groups<PreparedQuery, Result>((all) => runAsOne(ways, all), waitMs)
  return async (query) => {
    if (!query.together) return ways.alone(query)
    const group = groups.getOrInsertComputed(query.sql, groupFor)
    return group.run(memberKey(query.together, query.parameters), query).catch((error) => {
      if (error instanceof GroupFailed) return ways.alone(query)
      throw error
    })
  }
}

async function runAsOne({ alone, forSeveral }: Ways, queries: PreparedQuery[]): Promise<Result[]> {
  if (queries.length === 1) return Promise.all(queries.map(alone))
  const joint = jointOf(queries)
  if (!joint) throw new Error('These statements cannot be one.')
  const { rows } = await forSeveral(joint.query)
  return joint.answers(rows as Record<string, unknown>[]).map((own) => ({ rows: own }))
}
