import { prepared } from '@plinth/kit/database'
import type { Db } from './tables.ts'

const retryFailed = prepared((db: Db, { id, now }: { id: string; now: string }) =>
  db
    .updateTable('webhook_events')
    .set({ next_try_at: now })
    .where('next_try_at', '>', now)
    .where('payment_id', '=', id),
)

/** The payment has changed: events that failed before may succeed now. */
export async function updateFailedToRetry(db: Db, paymentId: string, now: Date): Promise<void> {
  await retryFailed(db, { id: paymentId, now: now.toISOString() })
}
