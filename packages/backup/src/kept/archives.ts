import { readdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DAY_MS } from '@plinth/kit/runtime'
import { ARCHIVE_NAME } from '../archive/manifest.ts'

export type KeptBackup = { file: string; createdAt: string; version: string; bytes: number }

/** The archives in a folder, newest first. */
export async function listBackups(folder: string): Promise<KeptBackup[]> {
  const names = await readdir(folder).catch((error: NodeJS.ErrnoException): string[] => {
    if (error.code === 'ENOENT') return []
    throw error
  })
  const kept = names.flatMap((name) => keptBackup(name, join(folder, name)) ?? [])
  const measured = kept.map(async (one) => ({ ...one, bytes: (await stat(one.file)).size }))
  const backups = await Promise.all(measured)
  return backups.sort((left, right) => right.createdAt.localeCompare(left.createdAt))
}

/** What the name of an archive says about it; undefined if it is not that of an archive. */
export function keptBackup(name: string, file: string): Omit<KeptBackup, 'bytes'> | undefined {
  const [, stamp = '', version = ''] = ARCHIVE_NAME.exec(name) ?? []
  return stamp === '' ? undefined : { file, createdAt: isoOf(stamp), version }
}

function isoOf(stamp: string): string {
  return stamp.replace(/(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z/, '$1-$2-$3T$4:$5:$6Z')
}

/** Keeps the newest `keep` archives, the newest of each of the last `weeks` weeks that have one, and `spare`. */
export type Retention = { keep: number; weeks: number; spare?: string | undefined }

/** Deletes all other archives and returns them. */
export async function pruneBackups(folder: string, retention: Retention): Promise<KeptBackup[]> {
  const old = oldBackups(await listBackups(folder), retention)
  for (const { file } of old) await rm(file)
  return old
}

/** Those that are not to be kept, of archives that are sorted with the newest first. */
export function oldBackups(all: KeptBackup[], { keep, weeks, spare }: Retention): KeptBackup[] {
  const newestOfWeek = new Map(all.toReversed().map((one) => [weekOf(one), one]))
  const kept = new Set([
    ...all.slice(0, keep),
    ...all.filter(({ file }) => file === spare),
    ...[...newestOfWeek.values()].toReversed().slice(0, weeks),
  ])
  return all.filter((one) => !kept.has(one))
}

/** Unix time began on a Thursday; weeks begin on Monday. */
const THURSDAY = 3

function weekOf({ createdAt }: KeptBackup): number {
  return Math.floor((Date.parse(createdAt) / DAY_MS + THURSDAY) / 7)
}
