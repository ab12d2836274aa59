import { inTransaction, secondsAfter } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import type { Db } from '../payment/database/tables.ts'
import { deleteOldObservations, updateOldEvents } from './retention.repository.ts'

const DAY_SECONDS = 86_400

/** Clears old events and observations in small batches, so that no request waits long for one. */
export async function clearOldEvents(
  { db, clock, eventRetentionDays }: Payments,
  signal: AbortSignal,
): Promise<void> {
  const until = secondsAfter(clock(), -eventRetentionDays * DAY_SECONDS)
  for (const clear of [updateOldEvents, deleteOldObservations]) {
    const next = () => inTransaction(db, (transaction: Db) => clear(transaction, until))
    while (!signal.aborted && (await next()));
  }
}
