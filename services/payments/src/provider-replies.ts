import { type Db, inTransaction } from '@plinth/kit'
import { type About, insertObservation, remark } from './observations.repository.ts'
import { InconsistentObservation } from './observations.ts'
import { providerInconsistent } from './provider/problems.ts'
import type { PaymentTables } from './tables.ts'

/** Records an answer of the provider. What must never be applied is kept as a remark, and is 502. */
export async function recordReply(
  db: Db<PaymentTables>,
  about: About,
  record: (transaction: Db<PaymentTables>) => Promise<unknown>,
): Promise<void> {
  try {
    await inTransaction(db, record)
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly, paymentId } = error
    await insertObservation(db, { ...remark(about), paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
}
