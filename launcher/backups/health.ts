/** The outcome of the last backups, for operators. What makes backups, with its libraries, is not loaded for it. */
import { isFailing, lastBackup, readRecord } from '@plinth/backup/record'
import type { Guard, Server } from '@plinth/kit/http'
import type { Metrics } from '@plinth/kit/metrics'
import { type Clock, HOUR_MS, systemClock } from '@plinth/kit/runtime'
import type { BackupConfig } from '../config.ts'

type BackupHealth = {
  /** Unknown until the first backup has ended. */
  status: 'UP' | 'DOWN' | 'UNKNOWN'
  details: {
    /** The time of the daily backup, in UTC. */
    at?: string
    lastSuccess?: { at: string; file: string; bytes: number; seconds: number; verified: boolean }
    lastFailure?: { at: string; reason: string }
    /** When the last daily backup was due that another node has made. */
    madeElsewhere?: string
  }
}

const MAX_AGE_MS = 26 * HOUR_MS

/**
 * Down when the last backup failed, or when a daily backup is configured and the last success is too old. Of several
 * nodes one makes the backup, and counts for all.
 */
export async function backupHealth(
  { at, record }: BackupConfig,
  clock: Clock = systemClock,
): Promise<BackupHealth> {
  const known = await readRecord(record)
  const { succeeded, failed, elsewhere } = known
  const details = { at, lastSuccess: succeeded, lastFailure: failed, madeElsewhere: elsewhere?.due }
  const last = lastBackup(known)
  if (last === undefined && !failed) return { status: 'UNKNOWN', details }
  const isOld = at !== undefined && clock().getTime() - Date.parse(last ?? '') > MAX_AGE_MS
  return { status: isFailing(known) || isOld ? 'DOWN' : 'UP', details }
}

/** Only on listeners reserved for operators: the response contains paths and failure reasons. */
export function backupHealthRoute(server: Server, config: BackupConfig, guards: Guard[] = []) {
  server.get('/actuator/health/backup', {
    onRequest: guards,
    handler: async (_request, reply) => {
      const health = await backupHealth(config)
      return reply.code(health.status === 'DOWN' ? 503 : 200).send(health)
    },
  })
}

export function measureBackups(metrics: Metrics, { at, record }: BackupConfig): void {
  metrics.gauge(
    {
      name: 'plinth_backup_last_success_timestamp_seconds',
      help: 'Unix time of the last successful backup; 0 if a daily backup is configured and none has succeeded yet.',
    },
    async () => {
      const last = await sampleOfLast(record, (success) => Date.parse(success.at) / 1000)
      return last.length === 0 && at !== undefined ? 0 : last
    },
  )
  metrics.gauge(
    { name: 'plinth_backup_last_size_bytes', help: 'The size of the last backup.' },
    () => sampleOfLast(record, ({ bytes }) => bytes),
  )
  metrics.gauge(
    {
      name: 'plinth_backup_last_duration_seconds',
      help: 'How long the last backup took, including its verification.',
    },
    () => sampleOfLast(record, ({ seconds }) => seconds),
  )
  metrics.observedCounter(
    { name: 'plinth_backup_failures_total', help: 'Backups that failed.' },
    async () => (await readRecord(record)).failures,
  )
}

type Success = NonNullable<Awaited<ReturnType<typeof readRecord>>['succeeded']>

/** Nothing before the first success. */
async function sampleOfLast(record: string, read: (success: Success) => number) {
  const { succeeded } = await readRecord(record)
  return succeeded ? [{ labels: {}, value: read(succeeded) }] : []
}
