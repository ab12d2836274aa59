import { startJob, withLease } from '@plinth/kit/database'
import type { Metrics } from '@plinth/kit/metrics'
import { HOUR_SECONDS } from '@plinth/kit/runtime'
import { trashKeeper } from '../files/deletions/trash.ts'
import type { Storage } from '../files/storage.ts'
import { fillWords } from '../search/fill.ts'
import { expireUploads } from '../uploads/expire.ts'
import { continueMove } from './moves.ts'
import { finishDeletions, sweep } from './sweep.ts'

const MOVES_LEASE = 'storage-moves'
const MOVES_LEASE_SECONDS = 60

/** Background jobs; each runs on only one node at a time. */
export function startUpkeep(storage: Storage, metrics?: Metrics) {
  const { db, log } = storage
  const job = (name: string, everySeconds: number, run: (signal: AbortSignal) => Promise<void>) =>
    startJob({ db, name, everySeconds, log, metrics, run })

  const keepTrash = trashKeeper()
  const deletions = job('storage-deletions', 60, (signal) =>
    finishDeletions(storage, signal, keepTrash),
  )
  const sweeping = job('storage-sweep', HOUR_SECONDS, async (signal) => {
    await sweep(storage, signal)
  })
  const uploads = job('storage-uploads', 30, (signal) => expireUploads(storage, signal))
  const words = job('storage-words', 60, (signal) => fillWords(storage, signal))
  const moves = job(MOVES_LEASE, 15, (signal) => continueMove(storage, signal))

  // Resume at once what the last run of the service left unfinished.
  for (const { runNow } of [deletions, uploads, words, moves])
    runNow().catch((error) => log.error({ err: error }, 'resuming unfinished work failed'))
  const stop = async () => {
    await Promise.all([deletions, sweeping, uploads, words, moves].map((each) => each.stop()))
  }
  return { moves, stop }
}

/** Runs one round of the running move, unless another process is doing so. */
export async function runMoveNow(storage: Storage): Promise<void> {
  await withLease(storage.db, MOVES_LEASE, MOVES_LEASE_SECONDS, (signal) =>
    continueMove(storage, signal),
  )
}
