import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@plinth/kit/files'
import { giveFolderToOwner } from '@plinth/kit/runtime'
import { giveTree } from '../sources/owner.ts'

/** Files waiting to be moved into the folder of a service. */
export type Staging = {
  /** Where the files are written first. */
  path: string
  /** Moves them into place, owned by the owner of the folder. */
  publish(): Promise<void>
  close(): Promise<void>
}

const STAGING = '.restoring-'
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * Root restores into a folder that belongs to the service's user, who could meanwhile replace anything
 * in it with a symlink. So files wait in a folder that only we can enter, change their owner there, and
 * are then moved into place with one rename each. Both folders are held open, so that another one
 * cannot take their name.
 */
export async function openStaging(root: string): Promise<Staging> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  giveFolderToOwner(root)
  const target = await open(root, O_RDONLY | O_DIRECTORY)
  const place = pathOf(target, root)
  await removeLeftOvers(place)
  const own = join(place, `${STAGING}${randomUUID()}`)
  await mkdir(own, { mode: 0o700 })
  const staging = await openPrivate(own)
  if (!staging) throw new Error(`The folder ${own} was replaced while files were restored into it.`)
  const path = pathOf(staging, own)
  return {
    path,
    async publish() {
      await giveTree(path, await target.stat())
      const names = (await readdir(path)).filter((name) => !name.startsWith('.'))
      for (const name of names) await rename(join(path, name), join(place, name))
      await syncFolder(place)
    },
    async close() {
      await empty(path)
      await staging.close()
      await rmdir(own).catch(() => {})
      await target.close()
    },
  }
}

/** A path to the open folder itself, whatever has its name by now. Only Linux has such paths. */
function pathOf({ fd }: FileHandle, path: string): string {
  return existsSync(`/proc/self/fd/${fd}`) ? `/proc/self/fd/${fd}` : path
}

/** Undefined if it is not a folder, or if other users may have put something into it. */
async function openPrivate(path: string): Promise<FileHandle | undefined> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined)
  if (!handle) return undefined
  const { uid, mode } = await handle.stat()
  if (uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0) return handle
  await handle.close()
  return undefined
}

/** Left by killed restores. */
async function removeLeftOvers(place: string): Promise<void> {
  for await (const { name } of await opendir(place)) {
    if (!name.startsWith(STAGING)) continue
    const left = await openPrivate(join(place, name))
    if (!left) continue
    await empty(pathOf(left, join(place, name)))
    await left.close()
    await rmdir(join(place, name)).catch(() => {})
  }
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
}
