import { statSync } from 'node:fs'
import { systemClock } from '@plinth/kit'
import { loadBackups } from '../../../launcher/config.ts'
import { type Check, type Finding, ok, skip } from './finding.ts'

const DAY_MS = 86_400_000
const OLDEST_MS = 26 * 3_600_000
const WHY = 'a disk that breaks takes everything since then'

/** Whether there is a recent one, whether it was proved, and whether it outlives the disk of the data. */
const backup: Check = async ({ production, env, dataFolder }) => {
  if (!production) return [skip('backup', 'for production')]
  const { folder, record, verify } = loadBackups(env)
  const { listBackups, readRecord } = await import('@plinth/backup')
  const { failed, succeeded } = await readRecord(record)
  const backups = await listBackups(folder)
  const findings: Finding[] = [
    ...(failed && !(succeeded && succeeded.at > failed.at)
      ? [failure(failed.reason)]
      : ageFindings(folder, backups[0]?.createdAt)),
    ...(succeeded && !succeeded.verified && verify ? [UNPROVED] : []),
    ...diskFindings(folder, dataFolder),
  ]
  return findings.length > 0 ? findings : [ok('backup', `${backups.length} in ${folder}`)]
}

function failure(reason: string): Finding {
  return {
    check: 'backup',
    status: 'fail',
    seen: `the last one failed: ${reason}`,
    expected: 'one of the last 26 hours',
    why: WHY,
    fix: 'plinth backup create --verify, when that is corrected',
  }
}

function ageFindings(folder: string, newest: string | undefined): Finding[] {
  const age = systemClock().getTime() - Date.parse(newest ?? '')
  if (age <= OLDEST_MS) return []
  const old = `the last one is ${Math.round(age / DAY_MS)} days old`
  return [
    {
      check: 'backup',
      status: 'warn',
      seen: newest === undefined ? `no backup in ${folder}` : old,
      expected: 'one of the last 26 hours',
      why: WHY,
      fix: 'BACKUP_AT=02:00 in .env, or plinth backup create every night',
    },
  ]
}

const UNPROVED: Finding = {
  check: 'backup',
  status: 'warn',
  seen: 'the last one was not proved',
  expected: 'a backup that was restored once, into a scratch folder',
  why: 'a backup that cannot be restored shows only when it is needed',
  fix: 'plinth backup create --verify, or BACKUP_VERIFY=false in .env if that is meant',
}

function diskFindings(folder: string, dataFolder: string): Finding[] {
  const disk = statSync(folder, { throwIfNoEntry: false })?.dev
  if (disk === undefined || disk !== statSync(dataFolder, { throwIfNoEntry: false })?.dev) return []
  return [
    {
      check: 'backup',
      status: 'warn',
      seen: `${folder} is on the disk of the data`,
      expected: 'another disk, or a mount from another machine',
      why: 'a disk that breaks takes the backups along',
      fix: 'BACKUP_DIR=/mnt/backups in .env, or copy the archives elsewhere every day',
    },
  ]
}

export const backupChecks: Check[] = [backup]
