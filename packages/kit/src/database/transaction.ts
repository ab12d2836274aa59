import { setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { type DirectExecutor, Last } from './engine.ts'
import { GroupFailed } from './postgres/groups.ts'
import { PostgresPoolAdapter } from './postgres/kysely.ts'
import { isOutdatedPlan } from './postgres/statements.ts'
import type { Patience } from './postgres/transactions.ts'
import { SqliteFileAdapter } from './sqlite/kysely.ts'

const ATTEMPTS = 20

const LONGEST_PAUSE_MS = 200

type Options = Patience & {
  /**
   * Names the rows that `work` is about, if it locks and writes no others. Work of one turn with other
   * keys may then share the transaction, and the round trips; SQLite's are shared anyway.
   */
  groupKey?: string
}

/**
 * Runs `work` in a transaction, or in the one that is already open. PostgreSQL may ask for another
 * attempt when transactions meet; `work` must therefore have no effect outside the database.
 */
export async function inTransaction<T, R>(
  db: Kysely<T>,
  work: (db: Kysely<T>) => Promise<R | Last<R>>,
  options: Options = {},
): Promise<R> {
  if (db.isTransaction) return answerOf(await work(db))
  let open = db
  const committed = await commit(
    db,
    (transaction) => {
      open = transaction
      return work(transaction)
    },
    options,
  )
  for (const callback of callbacksOf(open)) callback()
  return committed
}

async function commit<T, R>(
  db: Kysely<T>,
  work: (db: Kysely<T>) => Promise<R | Last<R>>,
  options: Options,
): Promise<R> {
  const { adapter } = db.getExecutor()
  if (adapter instanceof SqliteFileAdapter)
    return adapter.inGroup<T, R>(async (transaction) => answerOf(await work(transaction)))
  if (!(adapter instanceof PostgresPoolAdapter)) throw new Error('Not a database of openDatabase.')
  const { groupKey } = options
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1 || groupKey === undefined) return await adapter.transact(work, options)
      return await adapter.inGroup<T, R>(groupKey, async (member) => answerOf(await work(member)))
    } catch (error) {
      if (attempt === ATTEMPTS || !asksForAnother(error)) throw error
    }
    await setTimeout(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
  }
}

/**
 * For an effect outside the database that must not happen for nothing, such as counting: it runs once,
 * when the open transaction is committed, and never when it is rolled back. It must not throw.
 */
export function afterCommit<T>(db: Kysely<T>, callback: () => void): void {
  if (!db.isTransaction) throw new Error('There is no transaction to wait for.')
  callbacksOf(db).push(callback)
}

/** Every attempt at a transaction has an executor of its own. */
function callbacksOf<T>(db: Kysely<T>): (() => void)[] {
  return (db.getExecutor() as DirectExecutor).afterCommit
}

/**
 * What `work` returns when its last statement decides nothing: on PostgreSQL the commit goes out with
 * that statement and does not wait for its answer. The transaction still fails when the statement does.
 */
export function lastly<R>(answer: Promise<R>): Last<R> {
  return new Last(answer)
}

function answerOf<R>(result: R | Last<R>): R | Promise<R> {
  return result instanceof Last ? result.answer : result
}

const SERIALISATION_FAILURES = new Set(['40001', '40P01'])

function asksForAnother(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as { code?: string }
  const isAsked = SERIALISATION_FAILURES.has(code) || isOutdatedPlan(error)
  return isAsked || error instanceof GroupFailed
}
