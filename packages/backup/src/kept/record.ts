import { readFile, rename, rm, writeFile } from 'node:fs/promises'
import { giveToOwner } from '../sources/owner.ts'

/** The outcome of the last backups. It is kept in a file so that health and metrics survive a restart. */
type BackupRecord = {
  succeeded?: {
    at: string
    file: string
    bytes: number
    seconds: number
    verified: boolean
    /** The services in the archive. Earlier versions did not record them. */
    services?: string[]
  }
  /** `file` is set if an archive was made and its verification failed. */
  failed?: { at: string; reason: string; file?: string | undefined }
  /** The last daily backup that another node has made: when it was due, and when this node learnt of it. */
  elsewhere?: { due: string; at: string }
  /** Total since the record was created. */
  failures: number
}

/** A missing or unreadable record counts as empty: it must not stop a backup. */
export async function readRecord(file: string): Promise<BackupRecord> {
  try {
    return { failures: 0, ...JSON.parse(await readFile(file, 'utf8')) }
  } catch {
    return { failures: 0 }
  }
}

/** Readers compare the times. A failure with a later one was recorded while the clock was ahead, and is forgotten. */
export async function recordSuccess(
  file: string,
  succeeded: NonNullable<BackupRecord['succeeded']>,
): Promise<void> {
  const { failed, ...record } = await readRecord(file)
  const isEarlier = failed !== undefined && failed.at < succeeded.at
  await write(file, { ...record, ...(isEarlier && { failed }), succeeded })
}

export async function recordFailure(
  file: string,
  failed: NonNullable<BackupRecord['failed']>,
): Promise<void> {
  const record = await readRecord(file)
  const { succeeded } = record
  // A success from a clock that was ahead must not hide this failure.
  if (succeeded && succeeded.at > failed.at) succeeded.at = failed.at
  await write(file, { ...record, failed, failures: record.failures + 1 })
}

export async function recordElsewhere(
  file: string,
  made: NonNullable<BackupRecord['elsewhere']>,
): Promise<void> {
  const record = await readRecord(file)
  if (made.due > (lastBackup(record) ?? '')) await write(file, { ...record, elsewhere: made })
}

/** When the last backup was made, or was due if another node made it. */
export function lastBackup({ succeeded, elsewhere }: BackupRecord): string | undefined {
  return later(succeeded?.at, elsewhere?.due)
}

/** Whether nothing has succeeded since the last failure, neither here nor on another node. */
export function isFailing({ succeeded, failed, elsewhere }: BackupRecord): boolean {
  return failed !== undefined && failed.at >= (later(succeeded?.at, elsewhere?.at) ?? '')
}

function later(one: string | undefined, other: string | undefined): string | undefined {
  return (one ?? '') > (other ?? '') ? one : other
}

const OWNER_ONLY = 0o600

/** Root may make the backup. The service that reports it runs as the owner of the folder. */
async function write(file: string, record: BackupRecord): Promise<void> {
  const part = `${file}.part`
  await rm(part, { force: true })
  await writeFile(part, `${JSON.stringify(record)}\n`, { flag: 'wx', mode: OWNER_ONLY })
  await giveToOwner(part)
  await rename(part, file)
}
