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

const TURN_MS = 10

/**
 * Reads outside of transactions. They have a connection of their own, so they wait for no
 * transaction and see nothing of one that is still open. Those of one turn of the event loop run at
 * its end, in one transaction: a row takes a third of the time then, and is never older than the
 * question. What would hold the loop for too long waits for the next turn, so that hundreds of long
 * lists do not keep a new request, such as one for health, from being heard.
 */
export class Reads {
  readonly #file: string
  #database: Sqlite | undefined
  #runTogether: RunTogether | undefined
  #waiting: Read[] = []
  #planned = false

  constructor(file: string) {
    this.#file = file
  }

  run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    this.#plan()
    return new Promise((resolve, reject) => this.#waiting.push({ query, resolve, reject }))
  }

  async close(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runWaiting()
    this.#database?.close()
  }

  #plan(): void {
    if (this.#planned) return
    this.#planned = true
    setImmediate(() => this.#runWaiting())
  }

  async #runWaiting(): Promise<void> {
    const reads = this.#waiting
    this.#waiting = []
    this.#planned = false
    if (reads.length === 0) return
    try {
      const count = await whenFree(() => {
        this.#runTogether ??= togetherBy(this.#open())
        return this.#runTogether(reads)
      })
      if (count === reads.length) return
      this.#waiting = [...reads.slice(count), ...this.#waiting]
      this.#plan()
    } catch (error) {
      for (const read of reads) read.reject(error)
    }
  }

  #open(): Sqlite {
    this.#database ??= openSqliteToRead(this.#file)
    return this.#database
  }
}

/** Returns how many have run when the turn is over. */
type RunTogether = (reads: Read[]) => number

function togetherBy(database: Sqlite): RunTogether {
  const run = statementRunner(database)
  const runInTurn = (reads: Read[]) => {
    const end = performance.now() + TURN_MS
    let count = 0
    for (const read of reads) {
      settle(run, read)
      count += 1
      if (performance.now() > end) break
    }
    return count
  }
  const inTransaction = database.transaction(runInTurn)
  return (reads) => (reads.length > 1 ? inTransaction(reads) : runInTurn(reads))
}

function settle(run: RunStatement, { query, resolve, reject }: Read): void {
  try {
    resolve(run(query))
  } catch (error) {
    if (isBusy(error)) throw error
    reject(error)
  }
}
