import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../engine.ts'
import { inTransaction } from '../transaction.ts'

const WAIT_MS = 1_000
const PAUSE_MS = 500

const NOT_AVAILABLE = '55P03'

/**
 * For changes to tables that others use: every later statement on a table queues up behind one that waits to change
 * it, as long as a backup reads the table. So the transaction gives up soon, lets the others through, and tries again.
 */
export async function withShortWaits<T>(
  db: Db<T>,
  work: (db: Db<T>) => Promise<void>,
): Promise<void> {
  const tryOnce = async (transaction: Db<T>) => {
    await sql`set local lock_timeout = ${sql.lit(WAIT_MS)}`.execute(transaction)
    await work(transaction)
    return true
  }
  const giveUp = (error: { code?: string }) => {
    if (error.code !== NOT_AVAILABLE) throw error
    return false
  }
  while (!(await inTransaction(db, tryOnce, { isPatient: true }).catch(giveUp)))
    await setTimeout(PAUSE_MS)
}
