import { inTransaction, type Job, startJob } from '@plinth/kit/database'
import type { Metrics } from '@plinth/kit/metrics'
import { DAY_SECONDS, HOUR_SECONDS, secondsAfter } from '@plinth/kit/runtime'
import type { Payments } from '../payment/context.ts'
import type { Db } from '../payment/database/tables.ts'
import { retryDueEvents } from '../webhooks/events.ts'
import { pollEvents } from '../webhooks/poll.ts'
import { reconcileDue } from './reconcile.ts'
import { deleteOldObservations, updateLeftEvents, updateOldEvents } from './retention.repository.ts'

type JobIntervals = { lookEverySeconds: number; pollEverySeconds: number }

const CLEAR_EVERY_SECONDS = HOUR_SECONDS

export type Jobs = {
  reconcile: Job
  retry: Job
  poll: Job
  retention: Job
  /** Runs the reconciliation now instead of at its next interval. */
  wake(): void
  stop(): Promise<void>
}

/** Starts the background jobs. Each runs on one node at a time. */
export function startJobs(payments: Payments, intervals: JobIntervals, metrics: Metrics): Jobs {
  const { db, log, leaseSeconds } = payments
  const { lookEverySeconds, pollEverySeconds } = intervals
  const start = (name: string, everySeconds: number, run: (signal: AbortSignal) => Promise<void>) =>
    startJob({ db, name: `job:${name}`, everySeconds, leaseSeconds, log, metrics, run })

  const reconcile = start('reconcile', lookEverySeconds, (signal) => reconcileDue(payments, signal))
  const wake = wakerOf(reconcile, (err) =>
    log.outages.failed({ state: 'reconciling', message: 'reconciling payments failed', err }),
  )
  const inbox = { ...payments, wake }
  const retry = start('event-retry', lookEverySeconds, (signal) => retryDueEvents(inbox, signal))
  const poll = start('event-poll', pollEverySeconds, (signal) => pollEvents(inbox, signal))
  const retention = start('event-retention', CLEAR_EVERY_SECONDS, (signal) =>
    clearOldEvents(payments, signal),
  )
  const stop = async () => {
    await Promise.all([reconcile, retry, poll, retention].map((job) => job.stop()))
  }
  return { reconcile, retry, poll, retention, wake, stop }
}

/** Returns a function that runs the job now, or once more after the current run; never twice at a time. */
function wakerOf(job: Job, onFailure: (error: unknown) => void): () => void {
  let asked = false
  let running = false
  const run = async () => {
    running = true
    while (asked) {
      asked = false
      await job.runNow().catch(onFailure)
    }
    running = false
  }
  return () => {
    asked = true
    if (!running) void run()
  }
}

/** Clears old events and observations in small batches, so that no request waits long for one. */
async function clearOldEvents(
  { db, clock, eventRetentionDays }: Payments,
  signal: AbortSignal,
): Promise<void> {
  const until = secondsAfter(clock(), -eventRetentionDays * DAY_SECONDS)
  for (const clear of [updateOldEvents, updateLeftEvents, deleteOldObservations]) {
    const next = () => inTransaction(db, (transaction: Db) => clear(transaction, until))
    while (!signal.aborted && (await next()));
  }
}
