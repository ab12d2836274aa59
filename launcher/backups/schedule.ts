/** The daily backup, made by one of the nodes that run the suite. */
import { type ChildProcess, fork } from 'node:child_process'
import { readRecord, recordElsewhere, recordFailure, type ServiceData } from '@plinth/backup'
import {
  isFirstWithin,
  isLeaseHeld,
  type LeaseTables,
  openDatabase,
  withLease,
} from '@plinth/kit/database'
import type { Logger } from '@plinth/kit/logging'
import {
  type Clock,
  DAY_SECONDS,
  type Env,
  entryBeside,
  HOUR_SECONDS,
  isAhead,
  secondsAfter,
  systemClock,
} from '@plinth/kit/runtime'
import type { BackupConfig } from '../config.ts'

type Scheduled = {
  env: Env
  config: BackupConfig
  /** What is backed up. A lease in the first database decides which node does it. */
  services: ServiceData[]
  log: Logger
  clock?: Clock
}

type Schedule = {
  /** Makes the backup that is due, if any, unless another node has made it or is making it. */
  runDue(): Promise<boolean>
  stop(): Promise<void>
}

const POLL_SECONDS = 60
const LEASE_SECONDS = 60
const RETRY_SECONDS = HOUR_SECONDS
/** Well past the time when the next backup is due. */
const MADE_SECONDS = 2 * DAY_SECONDS

/**
 * Exit codes of the backup process. After `failed` the record holds the reason. That is not 1, with which Node ends
 * after an uncaught exception: then nothing has been recorded.
 */
export const ENDED = { done: 0, failed: 2, busy: 75 }

/** Returns undefined without BACKUP_AT, or without a database to hold the lease. */
export function startSchedule(scheduled: Scheduled): Schedule | undefined {
  const { config, services, log, clock = systemClock } = scheduled
  const { at } = config
  const lease = services.find(({ database }) => database)?.database
  if (at === undefined || !lease) return undefined
  const stopping = new AbortController()
  let settled = 0
  let notBefore = new Date(0)
  let round: Promise<boolean> | undefined

  const runIfDue = async (): Promise<boolean> => {
    const due = lastDue(at, clock())
    if (settled === due.getTime() || isAhead(notBefore, RETRY_SECONDS, clock())) return false
    const name = due.toISOString()
    const { db, close } = await openDatabase<LeaseTables>(lease.url, lease.migrations)
    const makeUnlessMade = async (signal: AbortSignal): Promise<Outcome> => {
      if (await isLeaseHeld(db, `backup-made:${name}`, MADE_SECONDS)) return 'already made'
      const outcome = await makeInProcess(scheduled, signal)
      if (outcome === 'made') await isFirstWithin(db, `backup-made:${name}`, MADE_SECONDS)
      return outcome
    }
    const turn = await withLease(db, `backup:${name}`, LEASE_SECONDS, (lost) =>
      makeUnlessMade(AbortSignal.any([lost, stopping.signal])),
    ).finally(close)
    const outcome = turn?.result ?? 'postponed'
    if (outcome === 'failed') notBefore = secondsAfter(clock(), RETRY_SECONDS)
    if (outcome === 'made' || outcome === 'already made') settled = due.getTime()
    if (outcome === 'already made')
      await recordElsewhere(config.record, { due: name, at: clock().toISOString() })
    return outcome === 'made'
  }
  const runDue = () => {
    round ??= runIfDue().finally(() => {
      round = undefined
    })
    return round
  }
  const poll = () => {
    runDue().catch((error) => log.error({ err: error }, 'no backup could be made'))
  }
  const timer = setInterval(poll, POLL_SECONDS * 1000).unref()
  const stop = async () => {
    clearInterval(timer)
    stopping.abort()
    await round?.catch(() => {})
  }
  return { runDue, stop }
}

function lastDue(at: string, now: Date): Date {
  const due = new Date(`${now.toISOString().slice(0, 10)}T${at}:00Z`)
  if (due > now) due.setUTCDate(due.getUTCDate() - 1)
  return due
}

/**
 * Postponed: another backup is being made, or the suite is stopping. A terminal or a supervisor that stops the suite
 * may signal the backup process as well, and before the suite has drained.
 */
type Outcome = 'made' | 'already made' | 'failed' | 'postponed'

const STOPPING = ['SIGTERM', 'SIGINT', 'SIGHUP']

async function makeInProcess(
  { env, services, config: { record }, log, clock = systemClock }: Scheduled,
  signal: AbortSignal,
): Promise<Outcome> {
  const names = services.map(({ name }) => name)
  const child = fork(entryBeside(import.meta, 'backup-process'), names, {
    env: env as NodeJS.ProcessEnv,
    execArgv: [],
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    signal,
    killSignal: 'SIGKILL',
  })
  const { code, how } = await exitOf(child)
  if (signal.aborted || code === ENDED.busy || STOPPING.includes(how)) return 'postponed'
  if (code !== ENDED.done && code !== ENDED.failed)
    await recordFailure(record, { at: clock().toISOString(), reason: `The process ended: ${how}.` })
  const { succeeded, failed } = await readRecord(record)
  if (code === ENDED.done) log.info(succeeded, 'backup made')
  else log.error(failed, 'backup failed')
  return code === ENDED.done ? 'made' : 'failed'
}

async function exitOf(child: ChildProcess): Promise<{ code: number | null; how: string }> {
  const { promise, resolve } = Promise.withResolvers<{ code: number | null; how: string }>()
  child.once('exit', (code, signal) => resolve({ code, how: signal ?? `exit code ${code}` }))
  // Aborting emits an error too, but then the child also exits.
  child.on('error', ({ name, message }) => {
    if (name !== 'AbortError') resolve({ code: null, how: message })
  })
  return promise
}
