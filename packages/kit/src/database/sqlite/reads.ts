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
/** Node accepts one connection per turn: without turns to spare, the last of 500 clients waits for 500 long turns. */
const TURNS_BETWEEN = 8

/**
 * Reads outside of transactions. They have a connection of their own, so they neither wait for a
 * transaction nor see its uncommitted changes. The reads of one turn of the event loop run at its end,
 * in one transaction: a row then takes a third of the time, and is never older than the request for it.
 * Reads that would block the event loop for too long wait for the next turn, so that hundreds of long
 * lists do not delay a new request, such as a health check.
 */
export class Reads {
  readonly #file: string
  #database: Sqlite | undefined
  #runTogether: RunTogether | undefined
  #waiting: Read[] = []
  #isScheduled = false

  constructor(file: string) {
    this.#file = file
  }

  run(query: CompiledQuery): Promise<QueryResult<unknown>> {
    this.#schedule()
    return new Promise((resolve, reject) => this.#waiting.push({ query, resolve, reject }))
  }

  async close(): Promise<void> {
    while (this.#waiting.length > 0) await this.#runWaiting()
    this.#database?.close()
  }

  #schedule(turns = 1): void {
    if (this.#isScheduled) return
    this.#isScheduled = true
    afterTurns(turns, () => this.#runWaiting())
  }

  async #runWaiting(): Promise<void> {
    const reads = this.#waiting
    this.#waiting = []
    this.#isScheduled = false
    if (reads.length === 0) return
    try {
      const count = await whenFree(() => {
        this.#runTogether ??= batchRunner(this.#open())
        return this.#runTogether(reads)
      })
      if (count === reads.length) return
      this.#waiting = [...reads.slice(count), ...this.#waiting]
      this.#schedule(TURNS_BETWEEN)
    } catch (error) {
      for (const read of reads) read.reject(error)
    }
  }

  #open(): Sqlite {
    this.#database ??= openSqliteToRead(this.#file)
    return this.#database
  }
}

function afterTurns(turns: number, work: () => void): void {
  setImmediate(() => (turns > 1 ? afterTurns(turns - 1, work) : work()))
}

/** Returns how many of them ran before the turn was over. */
type RunTogether = (reads: Read[]) => number

function batchRunner(database: Sqlite): RunTogether {
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
