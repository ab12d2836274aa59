import type { CompiledQuery, QueryResult } from 'kysely'
import {
  isBusy,
  openSqliteToRead,
  type RunStatement,
  type Sqlite,
  statementRunner,
  whenFree,
} from './file.ts'

type Read = {
  query: CompiledQuery
  resolve(result: QueryResult<unknown>): void
  reject(error: unknown): void
}

/**
 * Reads outside of transactions. They have a connection of their own, so they wait for no
 * transaction and see nothing of one that is still open. Those of one turn of the event loop run at
 * its end, in one transaction: a row takes a third of the time then, and is never older than the
 * question.
 */
export class Reads {
  readonly #file: string
  #database: Sqlite | undefined
  #runTogether: ((reads: Read[]) => void) | undefined
  #waiting: Read[] = []

  constructor(file: string) {
    this.#file = file
  }

  run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    if (this.#waiting.length === 0) setImmediate(() => this.#runWaiting())
    return new Promise((resolve, reject) => this.#waiting.push({ query, resolve, reject }))
  }

  async close(): Promise<void> {
    await this.#runWaiting()
    this.#database?.close()
  }

  async #runWaiting(): Promise<void> {
    const reads = this.#waiting
    this.#waiting = []
    if (reads.length === 0) return
    try {
      await whenFree(() => {
        this.#runTogether ??= togetherBy(this.#open())
        this.#runTogether(reads)
      })
    } catch (error) {
      for (const read of reads) read.reject(error)
    }
  }

  #open(): Sqlite {
    this.#database ??= openSqliteToRead(this.#file)
    return this.#database
  }
}

function togetherBy(database: Sqlite): (reads: Read[]) => void {
  const run = statementRunner(database)
  const runAll = (reads: Read[]) => {
    for (const read of reads) settle(run, read)
  }
  const inTransaction = database.transaction(runAll)
  return (reads) => (reads.length > 1 ? inTransaction(reads) : runAll(reads))
}

function settle(run: RunStatement, { query, resolve, reject }: Read): void {
  try {
    resolve(run(query))
  } catch (error) {
    if (isBusy(error)) throw error
    reject(error)
  }
}
