import { randomUUID } from 'node:crypto'
import { constants, existsSync } from 'node:fs'
import { type FileHandle, mkdir, open, opendir, readdir, rename, rm, rmdir } from 'node:fs/promises'
import { join } from 'node:path'
import { syncFolder } from '@plinth/kit'
import { giveMadeFolder, giveTree } from '../sources/owner.ts'

/** Files on their way into the folder of a service. */
export type Staging = {
  /** Where they are put first. */
  path: string
  /** Puts them in place, with the owner of the folder. */
  publish(): Promise<void>
  close(): Promise<void>
}

const STAGING = '.restoring-'
const { O_RDONLY, O_DIRECTORY, O_NOFOLLOW } = constants

/**
 * Root restores into a folder of the user that the service runs as, who could put a link in the
 * place of anything in it meanwhile. So files wait in a folder that only we can enter, are given
 * away in there, and are then moved in one step each. Both folders are held open: another one of
 * the same name does not take their place.
 */
export async function openStaging(root: string): Promise<Staging> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  await giveMadeFolder(root)
  const target = await open(root, O_RDONLY | O_DIRECTORY)
  const place = pathOf(target, root)
  await removeLeftOvers(place)
  const own = join(place, `${STAGING}${randomUUID()}`)
  await mkdir(own, { mode: 0o700 })
  const staging = await openOwn(own)
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

/** Leads to the folder that is open, whatever has its name by now. Only Linux has such paths. */
function pathOf({ fd }: FileHandle, path: string): string {
  return existsSync(`/proc/self/fd/${fd}`) ? `/proc/self/fd/${fd}` : path
}

/** Nothing if it is no folder, or if others can have put something into it. */
async function openOwn(path: string): Promise<FileHandle | undefined> {
  const handle = await open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW).catch(() => undefined)
  if (!handle) return undefined
  const { uid, mode } = await handle.stat()
  if (uid === (process.getuid?.() ?? uid) && (mode & 0o077) === 0) return handle
  await handle.close()
  return undefined
}

/** Of a restore that was killed. */
async function removeLeftOvers(place: string): Promise<void> {
  for await (const { name } of await opendir(place)) {
    if (!name.startsWith(STAGING)) continue
    const left = await openOwn(join(place, name))
    if (!left) continue
    await empty(pathOf(left, join(place, name)))
    await left.close()
    await rmdir(join(place, name)).catch(() => {})
  }
}

async function empty(folder: string): Promise<void> {
  for (const name of await readdir(folder)) await rm(join(folder, name), { recursive: true })
}
