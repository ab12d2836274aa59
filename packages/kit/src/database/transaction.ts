import { setTimeout } from 'node:timers/promises'
import { type Db, type DirectExecutor, Last } from './engine.ts'
import { GroupFailed } from './postgres/groups.ts'
import { PostgresPoolAdapter } from './postgres/kysely.ts'
import { isOutdatedPlan } from './postgres/statements.ts'
import type { Patience } from './postgres/transactions.ts'
import { SqliteFileAdapter } from './sqlite/kysely.ts'

const ATTEMPTS = 20

const MAX_PAUSE_MS = 200

type Options = Patience & {
  /**
   * Identifies the rows that `work` locks and writes; it must touch no others. Work with different keys
   * that starts in the same turn of the event loop may then share a transaction and its round trips.
   * SQLite shares transactions in any case.
   */
  groupKey?: string
}

/**
 * Runs `work` in a transaction, or in the one that is already open. It is retried when transactions
 * conflict on PostgreSQL, so `work` must have no effect outside the database.
 */
export async function inTransaction<T, R>(
  db: Db<T>,
  work: (db: Db<T>) => Promise<R | Last<R>>,
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
  db: Db<T>,
  work: (db: Db<T>) => Promise<R | Last<R>>,
  options: Options,
): Promise<R> {
  const { adapter } = db.getExecutor()
  if (adapter instanceof SqliteFileAdapter)
    return adapter.inGroup<T, R>(async (transaction) => answerOf(await work(transaction)))
  if (!(adapter instanceof PostgresPoolAdapter))
    throw new Error('The database was not opened with openDatabase.')
  const { groupKey } = options
  for (let attempt = 1; ; attempt++) {
    try {
      if (attempt > 1 || groupKey === undefined) return await adapter.transact(work, options)
      return await adapter.inGroup<T, R>(groupKey, async (member) => answerOf(await work(member)))
    } catch (error) {
      if (attempt === ATTEMPTS || !isRetryable(error)) throw error
    }
    await setTimeout(Math.random() * Math.min(2 ** attempt, MAX_PAUSE_MS))
  }
}

/**
 * Runs `callback` once after the open transaction has committed, and never if it rolls back: for effects
 * outside the database, such as counting. The callback must not throw.
 */
export function afterCommit<T>(db: Db<T>, callback: () => void): void {
  if (!db.isTransaction) throw new Error('afterCommit needs an open transaction.')
  callbacksOf(db).push(callback)
}

/** Each attempt has its own executor, so callbacks of failed attempts are dropped. */
function callbacksOf<T>(db: Db<T>): (() => void)[] {
  return (db.getExecutor() as DirectExecutor).afterCommit
}

/**
 * For `work` to return when nothing depends on the answer to its last statement: on PostgreSQL the commit
 * then goes out in the same round trip. The transaction still fails when the statement does.
 */
export function lastly<R>(answer: Promise<R>): Last<R> {
  return new Last(answer)
}

function answerOf<R>(result: R | Last<R>): R | Promise<R> {
  return result instanceof Last ? result.answer : result
}

const SERIALISATION_FAILURES = new Set(['40001', '40P01'])

function isRetryable(error: unknown): boolean {
  const { code = '' } = (error ?? {}) as { code?: string }
  const isConflict = SERIALISATION_FAILURES.has(code)
  return isConflict || isOutdatedPlan(error) || error instanceof GroupFailed
}
