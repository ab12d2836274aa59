import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { ARCHIVE_NAME } from '../archive/manifest.ts'

export type KeptBackup = { file: string; createdAt: string; version: string; bytes: number }

/** The archives in a folder, newest first. */
export async function listBackups(folder: string): Promise<KeptBackup[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const kept = names.flatMap((name) => {
    const [, stamp = '', version = ''] = ARCHIVE_NAME.exec(name) ?? []
    return stamp === '' ? [] : [{ file: join(folder, name), createdAt: isoOf(stamp), version }]
  })
  const measured = kept.map(async (one) => ({ ...one, bytes: (await stat(one.file)).size }))
  const backups = await Promise.all(measured)
  return backups.sort((left, right) => right.createdAt.localeCompare(left.createdAt))
}

function isoOf(stamp: string): string {
  return stamp.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z')
}

/** Keeps the newest `keep` archives, the newest of each of the last `weeks` weeks that have one, and `spare`. */
export type Retention = { keep: number; weeks: number; spare?: string | undefined }

/** Deletes all other archives and returns them. */
export async function pruneBackups(
  folder: string,
  { keep, weeks, spare }: Retention,
): Promise<KeptBackup[]> {
  const all = await listBackups(folder)
  const newestOfWeek = new Map(all.toReversed().map((one) => [weekOf(one), one]))
  const kept = new Set([
    ...all.slice(0, keep),
    ...all.filter(({ file }) => file === spare),
    ...[...newestOfWeek.values()].toReversed().slice(0, weeks),
  ])
  const old = all.filter((one) => !kept.has(one))
  for (const { file } of old) await rm(file)
  return old
}

const DAY_MS = 86_400_000
/** Unix time began on a Thursday; weeks begin on Monday. */
const THURSDAY = 3

function weekOf({ createdAt }: KeptBackup): number {
  return Math.floor((Date.parse(createdAt) / DAY_MS + THURSDAY) / 7)
}
