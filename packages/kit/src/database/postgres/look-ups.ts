import type { QueryResult } from 'kysely'
import { databaseFault, type Run } from '../engine.ts'
import type { PreparedQuery } from '../prepared.ts'
import { KEY } from './many-keys.ts'

type LookUp = {
  query: PreparedQuery
  resolve(result: QueryResult<unknown>): void
  reject(error: unknown): void
}

const MAX_KEYS = 1000

/**
 * Look-ups by key outside of transactions. Those of one turn of the event loop that differ only in
 * the key go out as one query at the end of the turn, so no answer is older than its request.
 */
export class LookUps {
  readonly #run: Run
  #waiting = new Map<string, LookUp[]>()

  constructor(run: Run) {
    this.#run = run
  }

  run(query: PreparedQuery): Promise<QueryResult<unknown>> {
    if (this.#waiting.size === 0) setImmediate(() => this.#runWaiting())
    const alike = this.#waiting.get(query.sql) ?? []
    this.#waiting.set(query.sql, alike)
    return new Promise((resolve, reject) => alike.push({ query, resolve, reject }))
  }

  #runWaiting(): void {
    const waiting = this.#waiting
    this.#waiting = new Map()
    for (const lookUps of waiting.values())
      while (lookUps.length > 0) void this.#runTogether(lookUps.splice(0, MAX_KEYS))
  }

  async #runTogether(lookUps: LookUp[]): Promise<void> {
    const [first] = lookUps
    if (!first?.query.many || lookUps.length === 1) return this.#runEach(lookUps)
    const keys = [...new Set(lookUps.map(({ query }) => query.parameters[0]))]
    try {
      const { rows } = await this.#run({ ...first.query, ...first.query.many, parameters: [keys] })
      const byKey = Map.groupBy(rows as Row[], (row) => String(row[KEY]))
      for (const { query, resolve } of lookUps)
        resolve({ rows: (byKey.get(String(query.parameters[0])) ?? []).map(withoutKey) })
    } catch (error) {
      // One invalid key, such as one that is not a number, must not fail the others.
      if (databaseFault(error) === undefined) return this.#runEach(lookUps)
      for (const { reject } of lookUps) reject(error)
    }
  }

  #runEach(lookUps: LookUp[]): void {
    for (const { query, resolve, reject } of lookUps) this.#run(query).then(resolve, reject)
  }
}

type Row = Record<string, unknown>

/** Makes a new object for each caller, because callers may modify their rows. */
function withoutKey({ [KEY]: _, ...row }: Row): Row {
  return row
}
