import { CompiledQuery, type QueryResult } from 'kysely'
import { Last, type Run, untilEnded } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import type { PostgresPool } from './pool.ts'
import type { Statements } from './statements.ts'
import { jointOf } from './together.ts'

/** A patient transaction waits for the answers to its statements without a timeout. */
export type Patience = { isPatient?: boolean }

type Context = Patience & { pool: PostgresPool; statements: Statements }

/**
 * Runs a transaction on its own connection. It costs only the round trips that `work` waits for: `begin`
 * goes out with the first statement, a prepared statement that returns no rows resolves at once, and
 * statements still pending at the end share a round trip with the commit.
 */
export async function inOneTransaction<R>(
  context: Context,
  work: (run: Run) => Promise<R | Last<R>>,
  begin: string[] = [],
): Promise<R> {
  const result = await transact(context, (runAs) => work(runAs(0)), begin)
  return result instanceof Last ? result.answer : result
}

/** Runs a statement that does the work of several, in one round trip. */
export function runForSeveral(context: Context, query: CompiledQuery): ReturnType<Run> {
  return inOneTransaction(context, async (run) => new Last(run(query)), BEGIN_GROUP)
}

/** A row locked by another node must not block the whole group: on a lock timeout each member retries alone. */
const BEGIN_GROUP = ['set local lock_timeout = 500']

/** Runs several works in one transaction. A statement that several of them issue is sent once. */
export function inSharedTransaction(
  context: Context,
  works: readonly ((run: Run) => Promise<unknown>)[],
): Promise<unknown[]> {
  const begin = works.length > 1 ? BEGIN_GROUP : []
  return transact(
    context,
    (runAs) => Promise.all(works.map((work, member) => work(runAs(member)))),
    begin,
  )
}

async function transact<R>(
  { pool, statements, isPatient = false }: Context,
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
  /** The member of a shared transaction that issued it; none for those that begin and end it. */
  member: number | undefined
  query: CompiledQuery
  resolve(result: QueryResult<unknown>): void
  reject(error: unknown): void
}

const NOTHING = { rows: [] }

/**
 * Sends the statements of a transaction in batches: those of one turn of the event loop are one batch,
 * and so are those that arrive while a batch is in flight. After a failure nothing more is sent, and
 * every statement fails with the same error.
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

  /** Returns whether the connection can still be used. */
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
    // Not an unhandled rejection: the commit fails as well, so callers need not await every statement.
    promise.catch(() => {})
    this.#waiting.push({ member, query, resolve, reject })
    this.#schedule()
    return promise
  }

  /** `nextTick` runs after the microtasks in which the caller issues its next statements. */
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
      const sent = mergeMembers(batch)
      const results = await this.#sendAll(sent.map(({ query }) => query))
      for (const [index, { settle }] of sent.entries()) settle(results[index] ?? NOTHING)
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
 * Merges statements of several members that differ only in their values. Each member's statements stay in
 * order. A statement that some member has further back in its queue waits for it if another can go first.
 */
function mergeMembers(waiting: Waiting[]): Sent[] {
  const isOfMember = ({ member }: Waiting) => member !== undefined
  const [start, end] = [waiting.findIndex(isOfMember), waiting.findLastIndex(isOfMember) + 1]
  const queues = [...Map.groupBy(waiting.slice(start, end), ({ member }) => member).values()]
  if (end === 0 || queues.length === 1) return waiting.map(alone)
  const sent: Sent[] = []
  for (let next = nextText(queues); next !== undefined; next = nextText(queues)) {
    const alike = queues.flatMap((queue) =>
      queue[0]?.query.sql === next ? (queue.shift() ?? []) : [],
    )
    sent.push(...merged(alike))
  }
  return [...waiting.slice(0, start).map(alone), ...sent, ...waiting.slice(end).map(alone)]
}

function nextText(queues: Waiting[][]): string | undefined {
  const heads = new Set(queues.flatMap((queue) => queue[0]?.query.sql ?? []))
  const isFurtherBack = (text: string) =>
    queues.some((queue) => queue.some(({ query }, index) => index > 0 && query.sql === text))
  return [...heads].find((text) => !isFurtherBack(text)) ?? [...heads][0]
}

function merged(alike: Waiting[]): Sent[] {
  const queries = alike.map(({ query }) => query)
  const joint = alike.length > 1 && queries.every(isPrepared) ? jointOf(queries) : undefined
  if (!joint) return alike.map(alone)
  const settle = ({ rows }: QueryResult<unknown>) => {
    const answers = joint.answers(rows as Record<string, unknown>[])
    for (const [index, { resolve }] of alike.entries()) resolve({ rows: answers[index] ?? [] })
  }
  return [{ query: joint.query, settle }]
}

function alone({ query, resolve }: Waiting): Sent {
  return { query, settle: resolve }
}
