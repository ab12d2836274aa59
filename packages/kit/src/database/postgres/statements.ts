import { createHash } from 'node:crypto'
import type { CompiledQuery, QueryResult } from 'kysely'
import type { PoolClient } from 'pg'
import { isPrepared } from '../prepared.ts'

type Client = Pick<PoolClient, 'query'>

const COUNTED = new Set(['INSERT', 'UPDATE', 'DELETE', 'MERGE'])

/**
 * Sends statements. One that was prepared has a name: the server parses and plans it once for each
 * connection.
 */
export class Statements {
  readonly #named: boolean
  readonly #names = new Map<string, string>()

  constructor(named: boolean) {
    this.#named = named
  }

  async send(client: Client, query: CompiledQuery): Promise<QueryResult<unknown>> {
    const { sql: text, parameters } = query
    const name = this.#named && isPrepared(query) ? this.#nameOf(text) : undefined
    try {
      const result = await client.query({ name, text, values: parameters as unknown[] })
      const { command, rowCount, rows } = result
      return { rows, numAffectedRows: COUNTED.has(command) ? BigInt(rowCount ?? 0) : undefined }
    } catch (error) {
      if (isOutdatedPlan(error)) this.#rename(text, name)
      throw error
    }
  }

  /** The same on every connection and in every process, as a pooler between us may want it. */
  #nameOf(text: string): string {
    const known = this.#names.get(text)
    if (known) return known
    const name = `p${createHash('sha256').update(text).digest('hex').slice(0, 24)}`
    this.#names.set(text, name)
    return name
  }

  /** Under another name the statement is parsed again. Of many that fail at once the first renames. */
  #rename(text: string, failed: string | undefined): void {
    if (failed && this.#names.get(text) === failed) this.#names.set(text, `${failed}x`)
  }
}

/** A migration, perhaps of another node, has changed what a named statement returns. */
export function isOutdatedPlan(error: unknown): boolean {
  const { code, message = '' } = (error ?? {}) as { code?: string; message?: string }
  return code === '0A000' && message.includes('cached plan')
}
