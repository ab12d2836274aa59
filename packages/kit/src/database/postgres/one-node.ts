import { setTimeout } from 'node:timers/promises'
import { sql } from 'kysely'
import type { Db } from '../engine.ts'
import { inTransaction } from '../transaction.ts'

const LOCK = 7_264_109
const PAUSE_MS = 200
/** Far below the time after which the server ends an idle transaction: that is for a node which has vanished. */
const ALIVE_MS = 15_000

/**
 * Runs `work` on one node; the others do the same after it. The lock belongs to a transaction, as poolers need, which
 * has no snapshot: a concurrent index build waits for every older one. Other nodes ask again and again instead
 * of waiting for the lock, because a statement that waits has a snapshot, too.
 */
export async function oneNodeAtATime<T>(db: Db<T>, work: () => Promise<void>): Promise<void> {
  const tryOnce = async (guard: Db<T>) => {
    await sql`set transaction isolation level read committed`.execute(guard)
    const { rows } = await sql<{ won: boolean }>`
      select pg_try_advisory_xact_lock(${LOCK}) as won`.execute(guard)
    if (!rows[0]?.won) return false
    // The server keeps the snapshot of the last statement until the next one; this one has none.
    const stayAlive = () => sql`show transaction_isolation`.execute(guard)
    await stayAlive()
    // Its error is not lost: whichever statement fails, the commit fails with the same error.
    const alive = setInterval(() => stayAlive().catch(() => {}), ALIVE_MS)
    try {
      await work()
    } finally {
      clearInterval(alive)
    }
    return true
  }
  while (!(await inTransaction(db, tryOnce, { isPatient: true }))) await setTimeout(PAUSE_MS)
}
