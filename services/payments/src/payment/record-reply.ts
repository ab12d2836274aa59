import { inTransaction } from '@plinth/kit/database'
import { providerInconsistent } from '../provider/problems.ts'
import type { Recording } from './context.ts'
import { insertObservation, type ObservationSource } from './database/observations.repository.ts'
import { InconsistentObservation } from './problems.ts'

/** Records a reply of the provider. An inconsistent one is not applied but kept as an anomaly: 502. */
export async function recordReply<T>(
  { db, countStatus }: Recording,
  source: ObservationSource,
  record: (recording: Recording) => Promise<T>,
): Promise<T> {
  try {
    return await inTransaction(db, (transaction) => record({ db: transaction, countStatus }))
  } catch (error) {
    if (!(error instanceof InconsistentObservation)) throw error
    const { message: note, anomaly, paymentId } = error
    await insertObservation(db, source, { paymentId, note, anomaly })
    throw providerInconsistent({ cause: error })
  }
}
