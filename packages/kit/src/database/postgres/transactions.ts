import { CompiledQuery, type QueryResult } from 'kysely'
import { Last, type Run, untilEnded } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import type { PostgresPool } from './pool.ts'
import type { Statements } from './statements.ts'

/** A patient transaction waits for its statements however long they take. */
export type Patience = { isPatient?: boolean }

type Means = Patience & { pool: PostgresPool; statements: Statements }

/**
 * A transaction on a connection of its own. Its round trips are those that `work` waits for: `begin`
 * goes out with the first statement, a prepared statement that returns no rows is not waited for, and
 * what was not waited for shares a round trip with the commit.
 */
export async function inOneTransaction<R>(
  { pool, statements, isPatient = false }: Means,
  work: (run: Run) => Promise<R | Last<R>>,
): Promise<R> {
  const client = await pool.connect()
  const answerMs = isPatient ? undefined : pool.answerMs
  const pipeline = new Pipeline((queries) => statements.send(client, queries, answerMs))
  const own = untilEnded((query) => pipeline.run(query))
  let isUsable = true
  try {
    for (const statement of pool.begin) pipeline.add(statement)
    const result = await work(own.run)
    own.end()
    await pipeline.add('commit')
    return result instanceof Last ? await result.answer : result
  } catch (error) {
    own.end()
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

  async run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const answer = this.#wait(query)
    return isPrepared(query) && query.isSilent ? NOTHING : answer
  }

  add(statement: string): Promise<QueryResult<unknown>> {
    return this.#wait(CompiledQuery.raw(statement))
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

  #wait(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const { promise, resolve, reject } = Promise.withResolvers<QueryResult<unknown>>()
    // The commit fails as well, so that not every statement has to be waited for.
    promise.catch(() => {})
    this.#waiting.push({ query, resolve, reject })
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
      const results = await this.#sendAll(batch.map(({ query }) => query))
      for (const [place, { resolve }] of batch.entries()) resolve(results[place] ?? NOTHING)
    } catch (error) {
      this.#failure ??= { error }
      for (const { reject } of batch) reject(error)
    }
    this.#isBusy = false
    this.#schedule()
  }
}
