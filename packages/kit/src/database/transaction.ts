import { setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { SqliteFileAdapter } from './sqlite/kysely.ts'

const ATTEMPTS = 20

const LONGEST_PAUSE_MS = 200

/**
 * Runs `work` in a transaction, or in the one that is already open. PostgreSQL may ask for another
 * attempt when transactions meet; `work` must therefore have no effect outside the database.
 */
export async function inTransaction<T, R>(
  db: Kysely<T>,
  work: (db: Kysely<T>) => Promise<R>,
): Promise<R> {
  if (db.isTransaction) return work(db)
  const { adapter } = db.getExecutor()
  if (adapter instanceof SqliteFileAdapter) return adapter.inGroup(work)
  for (let attempt = 1; ; attempt++) {
    try {
      return await attemptTransaction(db, work)
    } catch (error) {
      if (attempt === ATTEMPTS || !isSerialisationFailure(error)) throw error
    }
    await setTimeout(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
  }
}

/** On a lost connection the rollback fails as well, and Kysely would throw that failure instead. */
async function attemptTransaction<T, R>(
  db: Kysely<T>,
  work: (db: Kysely<T>) => Promise<R>,
): Promise<R> {
  let failure: { cause: unknown } | undefined
  const watched = async (transaction: Kysely<T>) => {
    try {
      return await work(transaction)
    } catch (cause) {
      failure = { cause }
      throw cause
    }
  }
  try {
    return await db.transaction().execute(watched)
  } catch (error) {
    throw failure ? failure.cause : error
  }
}

const SERIALISATION_FAILURES = new Set(['40001', '40P01'])

function isSerialisationFailure(error: unknown): boolean {
  return SERIALISATION_FAILURES.has((error as { code?: string } | undefined)?.code ?? '')
}
