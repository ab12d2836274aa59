import type { Writable } from 'node:stream'
import pg, { type QueryConfig, type QueryResult } from 'pg'

export type Statement = { name: string | undefined; text: string; values: unknown[] }

type Results = QueryResult | QueryResult[]

/** What pg passes to a query that submits itself. Its types declare neither this nor `DriverQuery`. */
type Connection = {
  stream: Writable
  sync(): void
  close(statement: { type: 'S'; name: string }): void
  parsedStatements: Record<string, string>
  submittedNamedStatements: Record<string, string>
}

type DriverQuery = Statement & {
  prepare(connection: Connection): void
  handleCommandComplete(message: unknown, connection: Connection): void
  handleError(error: Error, connection: Connection): void
}

const DriverQuery = pg.Query as unknown as new (
  config: QueryConfig,
  callback: (error: Error | null, results: Results) => void,
) => DriverQuery

/**
 * Statements that are sent and answered in one round trip, which costs one write and one read on either
 * side, however many there are. The server skips the statements after one that fails.
 */
export class Batch extends DriverQuery {
  readonly query_timeout: number | undefined
  readonly #statements: Statement[]
  #answered = 0

  constructor(
    statements: Statement[],
    answerMs: number | undefined,
    settle: (error: Error | null, results: QueryResult[]) => void,
  ) {
    super({ text: '' }, (error, results) => settle(error, [results].flat()))
    this.#statements = statements
    this.query_timeout = answerMs
  }

  /** The driver takes this for one statement, so it must show the name and text of the one being handled. */
  #switchTo(index: number): void {
    Object.assign(this, this.#statements[index])
  }

  submit(connection: Connection): null {
    const unsynced = Object.create(connection, { sync: { value: () => {} } })
    connection.stream.cork()
    for (const index of this.#statements.keys()) {
      this.#switchTo(index)
      this.prepare(unsynced)
    }
    connection.sync()
    connection.stream.uncork()
    this.#switchTo(0)
    return null
  }

  override handleCommandComplete(message: unknown, connection: Connection): void {
    super.handleCommandComplete(message, connection)
    this.#answered += 1
    this.#switchTo(this.#answered)
  }

  /**
   * `name` and `text` are now those of the statement that failed. PgBouncer takes the skipped statements
   * for prepared and would refuse their names the next time, so they are closed.
   */
  override handleError(error: Error, connection: Connection): void {
    for (const { name } of this.#statements.slice(this.#answered)) {
      if (!name || connection.parsedStatements[name]) continue
      delete connection.submittedNamedStatements[name]
      connection.close({ type: 'S', name })
    }
    super.handleError(error, connection)
  }
}
