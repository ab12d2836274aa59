import { createWriteStream } from 'node:fs'
import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { type Clock, failPoint, syncFolder, VERSION } from '@plinth/kit'
import { ARCHIVE_NAME, archiveName, type Manifest } from './archive/manifest.ts'
import { type Show, writeBackup } from './create.ts'
import { lockFile } from './databases/sqlite.repository.ts'
import { BackupError, orDiskFault } from './faults.ts'
import type { ServiceData } from './sources/service-data.ts'

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

/** Removes all but the newest, and says which. */
export async function pruneBackups(folder: string, keep: number): Promise<KeptBackup[]> {
  const old = (await listBackups(folder)).slice(keep)
  for (const { file } of old) await rm(file)
  return old
}

type Save = { folder: string; file?: string; clock: Clock; show?: Show }

/** An archive has its name only when it is whole and on disk. */
export async function saveBackup(
  services: ServiceData[],
  save: Save,
): Promise<{ file: string; bytes: number; manifest: Manifest }> {
  const folder = save.file === undefined ? save.folder : dirname(resolve(save.file))
  try {
    await mkdir(folder, { recursive: true, mode: 0o700 })
    const lock = lockFile(join(folder, LOCK))
    if (!lock) throw new BackupError('busy', 'Another backup is at work. Try again later.')
    try {
      await removeParts(folder)
      return await saveAlone(services, { ...save, folder })
    } finally {
      lock.release()
    }
  } catch (error) {
    throw orDiskFault(error, `The folder ${folder}`)
  }
}

const LOCK = '.plinth-backup.lock'
const PART = '.part'
const OUR_PART = /^plinth-.*\.tar\.zst\.part$/

/** Of backups that were killed: the lock is ours now. */
async function removeParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (OUR_PART.test(name)) await rm(join(folder, name))
}

async function saveAlone(services: ServiceData[], { folder, clock, show, ...save }: Save) {
  const file = save.file ?? join(folder, archiveName(clock(), VERSION))
  const part = `${file}${PART}`
  try {
    const output = createWriteStream(part, { mode: 0o600 })
    const manifest = await writeBackup(services, output, { clock, show })
    await sync(part)
    failPoint('backup:synced')
    await rename(part, file)
    await syncFolder(folder)
    return { file, bytes: (await stat(file)).size, manifest }
  } catch (error) {
    await rm(part, { force: true })
    throw error
  }
}

async function sync(path: string): Promise<void> {
  const handle = await open(path, 'r+')
  await handle.sync().finally(() => handle.close())
}
