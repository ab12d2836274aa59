import { createHash } from 'node:crypto'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { QueryResult as DriverResult, PoolClient, QueryConfig } from 'pg'
import { databaseUnavailable } from '../../problems.ts'
import { isPrepared } from '../prepared.ts'

type Statement = { name: string | undefined; text: string; values: unknown[] }

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/** Sends statements. A prepared one has a name, so the server parses and plans it once per connection. */
export class Statements {
  /** Until a pooler turns out not to support names. */
  #named = true
  readonly #names = new Map<string, string>()

  /**
   * Sends the query at once: the driver does not wait for the answers to earlier ones. `answerMs`: how long to wait
   * for its own; for ever if left out.
   */
  async send(
    client: Pick<PoolClient, 'query'>,
    query: CompiledQuery,
    answerMs?: number,
  ): Promise<QueryResult<unknown>> {
    const statement = this.#statementOf(query)
    try {
      return resultOf(await client.query({ ...statement, query_timeout: answerMs } as QueryConfig))
    } catch (error) {
      throw this.#learnFrom(error as Error, statement)
    }
  }

  #statementOf(query: CompiledQuery): Statement {
    const { sql: text, parameters } = query
    const name = this.#named && isPrepared(query) ? this.#nameOf(text) : undefined
    return { name, text, values: parameters as unknown[] }
  }

  #learnFrom(error: Error, { name, text }: Statement): Error {
    if (isForeignSession(error)) this.#named = false
    else if (isOutdatedPlan(error)) this.#rename(text, name)
    // A network failure. It is marked here, because elsewhere the same code could mean a client's connection.
    return 'syscall' in error ? databaseUnavailable({ cause: error }) : error
  }

  /** The same on every connection and in every process, because a pooler in between may rely on it. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known) return known
    const name = `p${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
    this.#names.set(text, name)
    return name
  }

  /** Under another name the server parses the statement again. When many fail at once, only the first renames. */
  #rename(text: string, failed: string | undefined): void {
    if (failed && this.#names.get(text) === failed) this.#names.set(text, `${failed}x`)
  }
}

function resultOf({ command, rowCount, rows }: DriverResult): QueryResult<unknown> {
  return { rows, numAffectedRows: COUNTED.has(command) ? BigInt(rowCount ?? 0) : undefined }
}

type DriverError = { code?: string; message?: string } | undefined

/**
 * A migration, perhaps by another node, has changed what a named statement returns, or the session does
 * not know the name. The statement works under another name, or without one.
 */
export function isOutdatedPlan(error: unknown): boolean {
  const { code, message = '' } = (error as DriverError) ?? {}
  return (code === '0A000' && message.includes('cached plan')) || isForeignSession(error)
}

/** A pooler has switched us to a session that does not know the name, or already has it. */
function isForeignSession(error: unknown): boolean {
  const { code = '' } = (error as DriverError) ?? {}
  return code === '26000' || code === '42P05'
}
