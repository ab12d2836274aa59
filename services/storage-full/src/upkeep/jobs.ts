import { type Db, type Job, type LeaseTables, startJob } from '@plinth/kit'
import type { Storage } from '../files/storage.ts'
import { continueMove } from './moves.ts'
import { finishDeletions, sweep } from './sweep.ts'

export const MOVES_LEASE = 'storage-moves'

/** The work that nobody asks for: each piece is done by one node at a time. */
export function startHousekeeping(storage: Storage) {
  const db = storage.db as unknown as Db<LeaseTables>
  const job = (name: string, everySeconds: number, run: (signal: AbortSignal) => Promise<void>) =>
    startJob({ db, name, everySeconds, log: storage.log, run })

  const deletions = job('storage-deletions', 60, (signal) => finishDeletions(storage, signal))
  const sweeping = job('storage-sweep', 3600, async (signal) => {
    await sweep(storage, signal)
  })
  const moves = job(MOVES_LEASE, 15, (signal) => continueMove(storage, signal))

  // What the last run of the service left unfinished is taken up at once.
  for (const { runNow } of [deletions, moves])
    runNow().catch((error) => storage.log.error({ err: error }, 'housekeeping failed'))
  return { moves, stop: () => stopAll([deletions, sweeping, moves]) }
}

async function stopAll(jobs: Job[]): Promise<void> {
  await Promise.all(jobs.map((job) => job.stop()))
}
