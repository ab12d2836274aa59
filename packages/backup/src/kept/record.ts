import { chmod, readFile, rename, rm, writeFile } from 'node:fs/promises'
import { giveToOwner } from '../sources/owner.ts'

/** How the last backups ended: health and metrics read it, also after a restart. */
export type BackupRecord = {
  succeeded?: {
    at: string
    file: string
    bytes: number
    seconds: number
    verified: boolean
    /** Whose data is in it. Earlier versions did not say. */
    services?: string[]
  }
  /** With the archive, if there is one: then it was its proof that failed. */
  failed?: { at: string; reason: string; file?: string | undefined }
  /** Since the record began. */
  failures: number
}

/** A record that is not there, or cannot be read, is empty: it must not stop a backup. */
export async function readRecord(file: string): Promise<BackupRecord> {
  try {
    return { failures: 0, ...JSON.parse(await readFile(file, 'utf8')) }
  } catch {
    return { failures: 0 }
  }
}

export async function recordSuccess(
  file: string,
  succeeded: NonNullable<BackupRecord['succeeded']>,
): Promise<void> {
  await write(file, { ...(await readRecord(file)), succeeded })
}

export async function recordFailure(
  file: string,
  failed: NonNullable<BackupRecord['failed']>,
): Promise<void> {
  const record = await readRecord(file)
  await write(file, { ...record, failed, failures: record.failures + 1 })
}

/** A backup that root makes is shown by a service that runs as another user. */
const READABLE = 0o644

async function write(file: string, record: BackupRecord): Promise<void> {
  const part = `${file}.part`
  await rm(part, { force: true })
  await writeFile(part, `${JSON.stringify(record)}\n`, { flag: 'wx' })
  await chmod(part, READABLE)
  await giveToOwner(part)
  await rename(part, file)
}
