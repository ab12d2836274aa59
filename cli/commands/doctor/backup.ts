import { existsSync, statSync } from 'node:fs'
import { join } from 'node:path'
import {
  DAY_MS,
  type Finding,
  HOUR_MS,
  ok,
  RESTORE_MARK,
  skip,
  systemClock,
  unfinishedSince,
} from '@plinth/kit/runtime'
import { loadBackups } from '../../../launcher/config.ts'
import { counted } from '../../command.ts'
import type { Check } from './installation.ts'

const MAX_AGE_MS = 26 * HOUR_MS
const WHY = 'if the disk fails, everything since the last backup is lost'

/** Whether there is a recent backup, whether it was verified, and whether it would survive the data disk. */
const backup: Check = async ({ production, env, dataFolder }) => {
  if (!production) return [skip('backup', 'for production')]
  const { folder, record, verify, at, bucket } = loadBackups(env)
  const { isFailing, listBackups, readRecord } = await import('@plinth/backup')
  const known = await readRecord(record)
  const { failed, succeeded, elsewhere } = known
  const backups = await listBackups(folder)
  const times = [backups[0]?.createdAt, elsewhere?.due].filter((time) => time !== undefined)
  const findings: Finding[] = [
    ...(failed && isFailing(known)
      ? [failure(failed.reason)]
      : ageFindings(folder, times.sort().at(-1), at)),
    ...(succeeded && !succeeded.verified && verify ? [UNVERIFIED] : []),
    ...(bucket ? [] : diskFindings(folder, dataFolder)),
  ]
  if (findings.length > 0) return findings
  const others = elsewhere ? `; another node made that of ${elsewhere.due}` : ''
  return [ok('backup', `${backups.length} in ${folder}${others}`)]
}

function failure(reason: string): Finding {
  return {
    check: 'backup',
    status: 'fail',
    seen: `the last backup failed: ${reason}`,
    expected: 'a backup from the last 26 hours',
    why: WHY,
    fix: 'correct that, then plinth backup create --verify',
  }
}

function ageFindings(
  folder: string,
  newest: string | undefined,
  at: string | undefined,
): Finding[] {
  const age = systemClock().getTime() - Date.parse(newest ?? '')
  if (age <= MAX_AGE_MS) return []
  const old = `the last backup is ${counted(Math.round(age / DAY_MS), 'day')} old`
  return [
    {
      check: 'backup',
      status: 'warn',
      seen: newest === undefined ? `no backup in ${folder}` : old,
      expected: 'a backup from the last 26 hours',
      why: WHY,
      fix:
        at === undefined
          ? 'BACKUP_AT=02:00 in .env, or plinth backup create every night'
          : 'wait a minute: with BACKUP_AT, plinth start soon makes a missing backup; or plinth backup create',
    },
  ]
}

const UNVERIFIED: Finding = {
  check: 'backup',
  status: 'warn',
  seen: 'the last backup was not verified',
  expected: 'a backup that was restored once, into a scratch folder',
  why: 'otherwise a backup that cannot be restored is noticed only when it is needed',
  fix: 'plinth backup create --verify, or BACKUP_VERIFY=false in .env if that is intended',
}

function diskFindings(folder: string, dataFolder: string): Finding[] {
  const disk = statSync(folder, { throwIfNoEntry: false })?.dev
  if (disk === undefined || disk !== statSync(dataFolder, { throwIfNoEntry: false })?.dev) return []
  return [
    {
      check: 'backup',
      status: 'warn',
      seen: `${folder} is on the same disk as the data`,
      expected: 'another disk, or a mount from another machine',
      why: 'if the disk fails, the backups are lost as well',
      fix: 'BACKUP_DIR=/mnt/backups in .env, or BACKUP_BUCKET for a copy in a bucket',
    },
  ]
}

/** Data that a killed restore has left incomplete. */
const restore: Check = async ({ dataFolder, prepared }) => {
  const since = unfinishedSince(dataFolder)
  const roots = prepared.flatMap(({ service }) => service.data.root ?? [])
  const marked = roots.filter((root) => existsSync(join(root, `.${RESTORE_MARK}`)))
  if (since !== undefined)
    return [unfinished(`a restore into ${dataFolder}, begun at ${since}, has not ended`)]
  return marked.map((root) => unfinished(`a restore into ${root} has not ended`))
}

/** A finding about data that carries the mark of a restore or a move. */
export function unfinished(seen: string): Finding {
  return {
    check: 'restore',
    status: 'fail',
    seen,
    expected: 'data that is whole',
    why: 'part of it is missing, and no service starts on it',
    fix: 'run plinth restore (or plinth move) again; it needs no --replace',
  }
}

export const backupChecks: Check[] = [backup, restore]
