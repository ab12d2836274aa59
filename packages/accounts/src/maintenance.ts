import {
  type Db,
  type Job,
  type LeaseTables,
  type Logger,
  secondsAfter,
  startJob,
} from '@plinth/kit'
import type { Accounts } from './accounts.ts'
import { deleteOldAuditEvents } from './audit.repository.ts'
import { deleteEndedAttempts } from './failed-attempts.repository.ts'
import { deleteExpiredSessions } from './sessions.repository.ts'

const EVERY_SECONDS = 60
const BATCH = 500
const DAY_SECONDS = 86_400

/** Keeps the tables as large as what is alive in them, and the signing keys young. */
export function startMaintenance(accounts: Accounts, log: Logger): Job {
  return startJob({
    db: accounts.db as unknown as Db<LeaseTables>,
    name: 'accounts-maintenance',
    everySeconds: EVERY_SECONDS,
    log,
    run: (signal) => maintain(accounts, signal),
  })
}

export async function maintain(accounts: Accounts, signal: AbortSignal): Promise<void> {
  const { db, settings } = accounts
  const now = accounts.clock()
  const auditEnd = secondsAfter(now, -settings.auditDays * DAY_SECONDS)
  await sweep(signal, (batch) => deleteExpiredSessions(db, now, batch))
  await sweep(signal, (batch) => deleteEndedAttempts(db, now, batch))
  await sweep(signal, (batch) => deleteOldAuditEvents(db, auditEnd, batch))
  await accounts.signingKeys.rotateWhenOlderThan(settings.keyRotationDays * DAY_SECONDS)
}

/** Deletes in small batches, so that no request ever waits behind a sweep. */
export async function sweep(
  signal: AbortSignal,
  deleteBatch: (limit: number) => Promise<number>,
): Promise<void> {
  let full = true
  while (full && !signal.aborted) full = (await deleteBatch(BATCH)) === BATCH
}
