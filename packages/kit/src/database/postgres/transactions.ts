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
 * the commit does not wait for statements that are not answered yet.
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
  const open = new OpenTransaction(
    [...pool.begin, ...begin].map((text) => CompiledQuery.raw(text)),
    (query) => statements.send(client, query, answerMs),
  )
  const ends: (() => void)[] = []
  const member = () => {
    const own = untilEnded((query) => open.run(query))
    ends.push(own.end)
    return own.run
  }
  let isUsable = true
  try {
    const result = await work(member)
    for (const end of ends) end()
    await open.commit()
    return result
  } catch (error) {
    for (const end of ends) end()
    isUsable = await open.rollBack(error)
    throw error
  } finally {
    client.release(!isUsable)
  }
}

const NOTHING = { rows: [] }

/**
 * The statements of one transaction. Each is sent at once, whether or not those before it are answered; the first one
 * takes `begin` along. After a failure nothing more is sent, and every statement fails with the same error.
 */
class OpenTransaction {
  readonly #begin: CompiledQuery[]
  readonly #send: Run
  #hasBegun = false
  #failure: { error: unknown } | undefined

  constructor(begin: CompiledQuery[], send: Run) {
    this.#begin = begin
    this.#send = send
  }

  async run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    const answer = this.#add(query)
    return isPrepared(query) && query.isSilent ? NOTHING : answer
  }

  /** The commit of a transaction with a failed statement is answered with success, too, but after the failure. */
  async commit(): Promise<void> {
    if (this.#hasBegun) await this.#add(CompiledQuery.raw('commit'))
    if (this.#failure) throw this.#failure.error
  }

  /** Returns whether the connection can still be used. */
  async rollBack(error: unknown): Promise<boolean> {
    this.#failure ??= { error }
    if (!this.#hasBegun) return true
    return this.#send(CompiledQuery.raw('rollback')).then(
      () => true,
      () => false,
    )
  }

  #add(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (!this.#hasBegun) {
      this.#hasBegun = true
      for (const first of this.#begin) this.#add(first)
    }
    const answer = this.#answerTo(query)
    // Not an unhandled rejection: the commit fails as well, so callers need not await every statement.
    answer.catch(() => {})
    return answer
  }

  async #answerTo(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (this.#failure) throw this.#failure.error
    try {
      return await this.#send(query)
    } catch (error) {
      // Answers come in order, so the first failure is the cause of those after it.
      this.#failure ??= { error }
      throw this.#failure.error
    }
  }
}
