import type { CompiledQuery, QueryResult } from 'kysely'
import { type RunStatement, type Sqlite, statementRunner, whenFree } from './file.ts'

/** The one connection that writes, used by one transaction at a time. */
export class Writer {
  readonly #database: Sqlite
  readonly #run: RunStatement
  #last: Promise<void> = Promise.resolve()

  constructor(database: Sqlite) {
    this.#database = database
    this.#run = statementRunner(database)
  }

  /** Runs a statement as a transaction of its own. */
  async run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    return this.#whileLocked(() => whenFree(() => this.#run(query)))
  }

  /**
   * A transaction that reads first and writes later would fail at once when another process wrote in
   * between; taking the write lock at the start makes it wait its turn instead.
   */
  async transaction<R>(work: (run: RunStatement) => Promise<R>): Promise<R> {
    return this.#whileLocked(async () => {
      await whenFree(() => this.#database.exec('begin immediate'))
      try {
        const result = await work(this.#runWhileOpen())
        this.#database.exec('commit')
        return result
      } catch (error) {
        if (this.#database.inTransaction) this.#database.exec('rollback')
        throw error
      }
    })
  }

  /**
   * SQLite rolls back a transaction by itself when, for example, the disk is full. Its later statements
   * must not run as transactions of their own.
   */
  #runWhileOpen(): RunStatement {
    let lost: unknown
    return (query) => {
      if (lost) throw lost
      try {
        return this.#run(query)
      } catch (error) {
        if (!this.#database.inTransaction) lost = error
        throw error
      }
    }
  }

  async close(): Promise<void> {
    await this.#whileLocked(async () => this.#database.close())
  }

  async #whileLocked<R>(work: () => Promise<R>): Promise<R> {
    const before = this.#last
    const { promise, resolve } = Promise.withResolvers<void>()
    this.#last = promise
    await before
    try {
      return await work()
    } finally {
      resolve()
    }
  }
}
