import { CompiledQuery, type QueryResult } from 'kysely'
import { Last, type Run, untilEnded } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import type { PostgresPool } from './pool.ts'
import type { Statements } from './statements.ts'
import { jointOf } from './together.ts'

/** A patient transaction waits for its statements however long they take. */
export type Patience = { isPatient?: boolean }

type Means = Patience & { pool: PostgresPool; statements: Statements }

/**
 * A transaction on a connection of its own. Its round trips are those that `work` waits for: `begin`
 * goes out with the first statement, a prepared statement that returns no rows is not waited for, and
 * what was not waited for shares a round trip with the commit.
 */
export async function inOneTransaction<R>(
  means: Means,
  work: (run: Run) => Promise<R | Last<R>>,
  begin: string[] = [],
): Promise<R> {
  const result = await transact(means, (runAs) => work(runAs(0)), begin)
  return result instanceof Last ? result.answer : result
}

/** A statement that does the work of several, in one round trip. */
export function runForSeveral(means: Means, query: CompiledQuery): ReturnType<Run> {
  return inOneTransaction(means, async (run) => new Last(run(query)), BEGIN_TOGETHER)
}

/** A row that another node holds must not hold up everyone in the group: each then runs alone. */
const BEGIN_TOGETHER = ['set local lock_timeout = 500']

/** The work of several in one transaction. Where they send the same statement, it is sent once. */
export function inSharedTransaction(
  means: Means,
  works: readonly ((run: Run) => Promise<unknown>)[],
): Promise<unknown[]> {
  const begin = works.length > 1 ? BEGIN_TOGETHER : []
  return transact(
    means,
    (runAs) => Promise.all(works.map((work, member) => work(runAs(member)))),
    begin,
  )
}

async function transact<R>(
  { pool, statements, isPatient = false }: Means,
  work: (runAs: (member: number) => Run) => Promise<R>,
  begin: string[] = [],
): Promise<R> {
  const client = await pool.connect()
  const answerMs = isPatient ? undefined : pool.answerMs
  const pipeline = new Pipeline((queries) => statements.send(client, queries, answerMs))
  const ends: (() => void)[] = []
  const runAs = (member: number) => {
    const own = untilEnded((query) => pipeline.run(query, member))
    ends.push(own.end)
    return own.run
  }
  let isUsable = true
  try {
    for (const statement of [...pool.begin, ...begin]) pipeline.add(statement)
    const result = await work(runAs)
    for (const end of ends) end()
    await pipeline.add('commit')
    return result
  } catch (error) {
    for (const end of ends) end()
    isUsable = await pipeline.rollBack(error)
    throw error
  } finally {
    client.release(!isUsable)
  }
}

type SendAll = (queries: CompiledQuery[]) => Promise<QueryResult<unknown>[]>

type Waiting = {
  /** Whose statement it is, in a transaction of several; those that begin and end it are of none. */
  member: number | undefined
  query: CompiledQuery
  resolve(result: QueryResult<unknown>): void
  reject(error: unknown): void
}

const NOTHING = { rows: [] }

/**
 * The statements of a transaction. Those of one turn of the event loop are one batch, and so are those
 * that come while a batch is under way. After a failure nothing more is sent, and everything fails for
 * the same reason.
 */
class Pipeline {
  readonly #sendAll: SendAll
  #waiting: Waiting[] = []
  #isBusy = false
  #hasBegun = false
  #failure: { error: unknown } | undefined

  constructor(sendAll: SendAll) {
    this.#sendAll = sendAll
  }

  async run(query: CompiledQuery, member: number): Promise<QueryResult<unknown>> {
    const answer = this.#wait(query, member)
    return isPrepared(query) && query.isSilent ? NOTHING : answer
  }

  add(statement: string): Promise<QueryResult<unknown>> {
    return this.#wait(CompiledQuery.raw(statement), undefined)
  }

  /** Whether the connection can still be used. */
  async rollBack(error: unknown): Promise<boolean> {
    this.#failure ??= { error }
    if (!this.#hasBegun) return true
    return this.#sendAll([CompiledQuery.raw('rollback')]).then(
      () => true,
      () => false,
    )
  }

  #wait(query: CompiledQuery, member: Waiting['member']): Promise<QueryResult<unknown>> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult<unknown>>()
    // The commit fails as well, so that not every statement has to be waited for.
    promise.catch(() => {})
    this.#waiting.push({ member, query, resolve, reject })
    this.#schedule()
    return promise
  }

  /** A tick comes after the microtasks, in which the caller goes on to its next statements. */
  #schedule(): void {
    if (this.#isBusy || this.#waiting.length === 0) return
    this.#isBusy = true
    process.nextTick(() => void this.#sendWaiting())
  }

  async #sendWaiting(): Promise<void> {
    const batch = this.#waiting.splice(0)
    try {
      if (this.#failure) throw this.#failure.error
      this.#hasBegun = true
      const sent = joined(batch)
      const results = await this.#sendAll(sent.map(({ query }) => query))
      for (const [place, { settle }] of sent.entries()) settle(results[place] ?? NOTHING)
    } catch (error) {
      this.#failure ??= { error }
      for (const { reject } of batch) reject(error)
    }
    this.#isBusy = false
    this.#schedule()
  }
}

type Sent = { query: CompiledQuery; settle(result: QueryResult<unknown>): void }

/**
 * Statements of several members that are the same but for their values become one. Each member's own
 * stay in their order, so the next is one that no other member has yet to come to.
 */
function joined(waiting: Waiting[]): Sent[] {
  const isOfMember = ({ member }: Waiting) => member !== undefined
  const [start, end] = [waiting.findIndex(isOfMember), waiting.findLastIndex(isOfMember) + 1]
  const lines = [...Map.groupBy(waiting.slice(start, end), ({ member }) => member).values()]
  if (end === 0 || lines.length === 1) return waiting.map(alone)
  const sent: Sent[] = []
  for (let next = nextText(lines); next !== undefined; next = nextText(lines)) {
    const alike = lines.flatMap((line) => (line[0]?.query.sql === next ? (line.shift() ?? []) : []))
    sent.push(...asOne(alike))
  }
  return [...waiting.slice(0, start).map(alone), ...sent, ...waiting.slice(end).map(alone)]
}

function nextText(lines: Waiting[][]): string | undefined {
  const heads = new Set(lines.flatMap((line) => line[0]?.query.sql ?? []))
  const isFurtherBack = (text: string) =>
    lines.some((line) => line.some(({ query }, place) => place > 0 && query.sql === text))
  return [...heads].find((text) => !isFurtherBack(text)) ?? [...heads][0]
}

function asOne(alike: Waiting[]): Sent[] {
  const queries = alike.map(({ query }) => query)
  const joint = alike.length > 1 && queries.every(isPrepared) ? jointOf(queries) : undefined
  if (!joint) return alike.map(alone)
  const settle = ({ rows }: QueryResult<unknown>) => {
    const answers = joint.answers(rows as Record<string, unknown>[])
    for (const [place, { resolve }] of alike.entries()) resolve({ rows: answers[place] ?? [] })
  }
  return [{ query: joint.query, settle }]
}

function alone({ query, resolve }: Waiting): Sent {
  return { query, settle: resolve }
}
