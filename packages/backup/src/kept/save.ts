import { mkdir, open, readdir, rename, rm, stat } from 'node:fs/promises'
import { dirname, join, resolve } from 'node:path'
import { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'
import { VERSION } from '@plinth/kit/database'
import { syncFolder } from '@plinth/kit/files'
import { failPoint } from '@plinth/kit/runtime'
import { archiveName, type Manifest } from '../archive/manifest.ts'
import { type WriteOptions, writeBackup } from '../create.ts'
import { lockFile } from '../databases/sqlite.repository.ts'
import { BackupError, type FreeBytes, orDiskFault, requireRoom } from '../faults.ts'
import { giveToOwner, keepPrivate } from '../sources/owner.ts'
import type { ServiceData } from '../sources/service-data.ts'

type Save = WriteOptions & {
  folder: string
  file?: string
  freeBytes?: FreeBytes
}

/** An archive gets its name only once it is complete and synced to disk. */
export async function saveBackup(
  services: ServiceData[],
  save: Save,
): Promise<{ file: string; bytes: number; manifest: Manifest }> {
  const folder = save.file === undefined ? save.folder : dirname(resolve(save.file))
  try {
    const made = await mkdir(folder, { recursive: true, mode: 0o700 })
    if (made === folder) await giveToOwner(folder)
    await keepPrivate(join(folder, LOCK))
    const lock = lockFile(join(folder, LOCK))
    if (!lock) throw new BackupError('busy', 'Another backup is at work. Try again later.')
    try {
      await giveToOwner(join(folder, LOCK))
      await removeParts(folder)
      return await saveLocked(services, { ...save, folder })
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

/** Left by killed backups: we hold the lock, so none of them is still running. */
async function removeParts(folder: string): Promise<void> {
  for (const name of await readdir(folder)) if (OUR_PART.test(name)) await rm(join(folder, name))
}

async function saveLocked(services: ServiceData[], { folder, freeBytes, ...save }: Save) {
  const file = save.file ?? join(folder, archiveName(save.clock(), VERSION))
  if (save.file !== undefined && (await exists(file)))
    throw new BackupError('cannot-create', `${file} is already there; nothing was changed.`)
  const part = `${file}${PART}`
  const output = await openPart(part)
  try {
    const manifest = await writeBackup(services, output, {
      ...save,
      requireRoom: (bytes) => requireRoom('backup', bytes, { folder, freeBytes }),
    })
    failPoint('backup:synced')
    await giveToOwner(part)
    await rename(part, file)
    await syncFolder(folder)
    return { file, bytes: (await stat(file)).size, manifest }
  } catch (error) {
    output.destroy()
    await finished(output).catch(() => {})
    await rm(part, { force: true })
    throw error
  }
}

async function exists(file: string): Promise<boolean> {
  return stat(file).then(
    () => true,
    () => false,
  )
}

const SYNC_BYTES = 8 * 2 ** 20

/**
 * Syncs a little at a time: on ext4 a service's commit waits for everything that other processes have
 * written since the last one, and for gigabytes that takes seconds.
 */
async function openPart(path: string): Promise<Writable> {
  const handle = await open(path, 'w', 0o600)
  let unsynced = 0
  const write = async (chunk: Buffer) => {
    await handle.writeFile(chunk)
    unsynced += chunk.length
    if (unsynced < SYNC_BYTES) return
    unsynced = 0
    await handle.datasync()
  }
  return new Writable({
    highWaterMark: 2 ** 18,
    write: (chunk, _encoding, done) => void write(chunk).then(() => done(), done),
    final: (done) => void handle.sync().then(() => done(), done),
    destroy: (error, done) => void handle.close().then(() => done(error), done),
  })
}
