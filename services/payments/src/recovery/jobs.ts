import { type Job, startJob } from '@plinth/kit'
import type { Payments } from '../payment/context.ts'
import { updateUnresolvedToCheck } from '../payment/database/payments.repository.ts'
import { retryDueEvents } from '../webhooks/events.ts'
import { pollEvents } from '../webhooks/poll.ts'
import { lookAtDuePayments } from './reconcile.ts'

type Pace = { lookEverySeconds: number; pollEverySeconds: number }

export type Jobs = { look: Job; retry: Job; poll: Job; stop(): Promise<void> }

/** The work that goes on without a request. Each job runs on one node at a time. */
export function startJobs(payments: Payments, pace: Pace): Jobs {
  const { db, log, leaseSeconds } = payments
  const start = (name: string, everySeconds: number, run: (signal: AbortSignal) => Promise<void>) =>
    startJob({ db, name: `job:${name}`, everySeconds, leaseSeconds, log, run })

  const look = start('look-again', pace.lookEverySeconds, (signal) =>
    lookAtDuePayments(payments, signal),
  )
  const retry = start('event-retry', pace.lookEverySeconds, (signal) =>
    retryDueEvents(payments, signal),
  )
  const poll = start('event-poll', pace.pollEverySeconds, (signal) => pollEvents(payments, signal))
  const stop = async () => {
    await Promise.all([look.stop(), retry.stop(), poll.stop()])
  }
  return { look, retry, poll, stop }
}

/** What was under way when the last process ended is looked at before anything else. */
export async function recoverAtStart(payments: Payments): Promise<void> {
  await updateUnresolvedToCheck(payments.db, payments.clock())
  payments.wake()
}

/** Runs a job soon, once more when it is asked for while running, and never twice at a time. */
export function wakerOf(job: () => Job, onFailure: (error: unknown) => void): () => void {
  let asked = false
  let running = false
  const run = async () => {
    running = true
    while (asked) {
      asked = false
      await job().runNow().catch(onFailure)
    }
    running = false
  }
  return () => {
    asked = true
    if (!running) void run()
  }
}
