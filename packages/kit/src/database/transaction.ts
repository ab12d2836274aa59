import { setTimeout } from 'node:timers/promises'
import type { Kysely } from 'kysely'
import { engineOf } from './engine.ts'
import { inGroup } from './sqlite/group-commit.ts'

const SERIALISATION_FAILURES = new Set(['40001', '40P01'])

const ATTEMPTS = 20

const LONGEST_PAUSE_MS = 200

/**
 * Runs `work` in a transaction, or in the one that is already open. PostgreSQL may ask for another
 * try when transactions meet; `work` must therefore have no effect outside the database.
 */
export async function inTransaction<T, R>(
  db: Kysely<T>,
  work: (db: Kysely<T>) => Promise<R>,
): Promise<R> {
  if (db.isTransaction) return work(db)
  if (engineOf(db) === 'sqlite') return inGroup(db, work)
  for (let attempt = 1; ; attempt++) {
    try {
      return await db.transaction().execute(work)
    } catch (error) {
      if (attempt === ATTEMPTS || !isSerialisationFailure(error)) throw error
    }
    await setTimeout(Math.random() * Math.min(2 ** attempt, LONGEST_PAUSE_MS))
  }
}

function isSerialisationFailure(error: unknown): boolean {
  return SERIALISATION_FAILURES.has((error as { code?: string } | undefined)?.code ?? '')
}
