import { randomUUID } from 'node:crypto'
import type { Logger } from '../../logging.ts'
import type { Metrics } from '../../metrics/metrics.ts'
import { systemClock } from '../../runtime/clock.ts'
import type { Db } from '../open.ts'
import { claimLease, deleteLease, type LeaseTables } from './leases.repository.ts'

/**
 * Runs `work` if no other node holds the lease called `name`, and keeps it while working. A node
 * that dies loses the lease after `leaseSeconds`. Returns what the work returned, or undefined if another node
 * holds the lease.
 */
export async function withLease<T>(
  db: Db<LeaseTables>,
  name: string,
  leaseSeconds: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<{ result: T } | undefined> {
  const holder = randomUUID()
  if (!(await claimLease(db, name, holder, leaseSeconds))) return undefined
  const lost = new AbortController()
  const renew = async () => {
    try {
      if (!(await claimLease(db, name, holder, leaseSeconds))) lost.abort()
    } catch (error) {
      lost.abort(error)
    }
  }
  let renewals = Promise.resolve()
  const renewAgain = () => {
    const earlier = renewals
    renewals = renew().then(() => earlier)
  }
  const timer = setInterval(renewAgain, (leaseSeconds * 1000) / 3).unref()
  const release = async () => {
    clearInterval(timer)
    // A renewal in flight on another connection would bring the lease back.
    await renewals
    await deleteLease(db, name, holder)
  }
  let result: T
  try {
    result = await work(lost.signal)
  } catch (error) {
    // The error of the work is the one to report: what broke it may break this too. A lease that is not released
    // expires by itself.
    await release().catch(() => {})
    throw error
  }
  await release()
  return { result }
}

/** True for only one of many callers, on any node, until `seconds` have passed. */
export function isFirstWithin(
  db: Db<LeaseTables>,
  name: string,
  seconds: number,
): Promise<boolean> {
  return claimLease(db, name, randomUUID(), seconds)
}

export type Job = {
  /** Does the work now, unless another node is doing it. */
  runNow(): Promise<boolean>
  stop(): Promise<void>
}

type JobOptions = {
  db: Db<LeaseTables>
  name: string
  everySeconds: number
  leaseSeconds?: number
  log: Logger
  metrics?: Metrics
  run: (signal: AbortSignal) => Promise<void>
}

const LAST_SUCCESS = {
  name: 'plinth_job_last_success_timestamp_seconds',
  help: 'When a background job last succeeded on this node, or when it was started there, in Unix time.',
}

/**
 * Runs background work periodically, on one node at a time. Its signal aborts when the lease is lost or
 * the job is stopped.
 */
export function startJob(options: JobOptions): Job {
  const stopping = new AbortController()
  const rounds = new Set<Promise<void>>()
  const now = () => systemClock().getTime() / 1000
  // Starts with the current time, so that a job that never succeeds becomes overdue, too.
  let lastSuccess = now()
  options.metrics?.gauge(LAST_SUCCESS, () => [
    { labels: { job_name: options.name }, value: lastSuccess },
  ])
  const runNow = () => {
    const turn = withLease(options.db, options.name, options.leaseSeconds ?? 60, async (lost) => {
      await options.run(AbortSignal.any([lost, stopping.signal]))
      lastSuccess = now()
    })
    const round = turn.then((done) => done !== undefined)
    const forget = () => void rounds.delete(ended)
    const ended = round.then(forget, forget)
    rounds.add(ended)
    return round
  }
  const details = { job: options.name }
  const state = `job ${options.name}`
  // Another node may do the work meanwhile: this one then neither fails nor succeeds.
  const quietMs = options.everySeconds * 10_000
  const timer = setInterval(() => {
    runNow().then(
      () => options.log.outages.ended(state),
      (err) => options.log.outages.failed({ state, message: 'job failed', err, details, quietMs }),
    )
  }, options.everySeconds * 1000).unref()
  const stop = async () => {
    clearInterval(timer)
    stopping.abort()
    await Promise.all(rounds)
  }
  return { runNow, stop }
}
