import { CompiledQuery, type QueryResult } from 'kysely'
import { Last, type Run, untilEnded } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import type { PostgresPool } from './pool.ts'
import type { Statements } from './statements.ts'

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
  const result = await transact(context, (member) => work(member()), begin)
  return result instanceof Last ? result.answer : result
}

/** Runs a statement that does the work of several, in one round trip. */
export function runForSeveral(context: Context, query: CompiledQuery): ReturnType<Run> {
  return inOneTransaction(context, async (run) => new Last(run(query)), BEGIN_GROUP)
}

/** A row locked by another node must not block the whole group: on a lock timeout each member retries alone. */
const BEGIN_GROUP = ['set local lock_timeout = 500']

/** Runs several works in one transaction. Their statements of one turn of the event loop share a round trip. */
export function inSharedTransaction(
  context: Context,
  works: readonly ((run: Run) => Promise<unknown>)[],
): Promise<unknown[]> {
  const begin = works.length > 1 ? BEGIN_GROUP : []
  return transact(context, (member) => Promise.all(works.map((work) => work(member()))), begin)
}

async function transact<R>(
  { pool, statements, isPatient = false }: Context,
  work: (member: () => Run) => Promise<R>,
  begin: string[] = [],
): Promise<R> {
  const client = await pool.connect()
  const answerMs = isPatient ? undefined : pool.answerMs
  const pipeline = new Pipeline((queries) => statements.send(client, queries, answerMs))
  const ends: (() => void)[] = []
  const member = () => {
    const own = untilEnded((query) => pipeline.run(query))
    ends.push(own.end)
    return own.run
  }
  let isUsable = true
  try {
    for (const statement of [...pool.begin, ...begin]) pipeline.add(statement)
    const result = await work(member)
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

  async run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const answer = this.#wait(query)
    return isPrepared(query) && query.isSilent ? NOTHING : answer
  }

  add(statement: string): Promise<QueryResult<unknown>> {
    return this.#wait(CompiledQuery.raw(statement))
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

  #wait(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult<unknown>>()
    // Not an unhandled rejection: the commit fails as well, so callers need not await every statement.
    promise.catch(() => {})
    this.#waiting.push({ query, resolve, reject })
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
      const results = await this.#sendAll(batch.map(({ query }) => query))
      for (const [index, { resolve }] of batch.entries()) resolve(results[index] ?? NOTHING)
    } catch (error) {
      this.#failure ??= { error }
      for (const { reject } of batch) reject(error)
    }
    this.#isBusy = false
    this.#schedule()
  }
}
