import { readdir, stat } from 'node:fs/promises'
import { coalesce } from '@plinth/kit/runtime'

/** The names of the regular files in a folder, as a sorted JSON array. */
export type Listing = () => Promise<Buffer>

/** No file system in use has coarser time stamps (FAT: 2 s). */
const SETTLED_MS = 2000

/**
 * A list is reused only while it is certain to be current. The folder must have the same time stamps
 * as when it was read, and these must have been unchanged for longer than the resolution of the file
 * system's time stamps: a second change within one tick leaves no trace. That duration is measured with
 * our own clock, because the clock of a file server may differ.
 */
export function createListing(
  folder: string,
  { now = () => performance.now(), timesOf = folderTimes } = {},
): Listing {
  let seen: { times: string; sinceMs: number; list?: Buffer } | undefined

  return coalesce(async () => {
    const times = await timesOf(folder)
    const state = seen?.times === times ? seen : { times, sinceMs: now() }
    seen = state
    if (state.list) return state.list
    const isSettled = now() - state.sinceMs >= SETTLED_MS
    const list = await readNames(folder)
    if (isSettled) state.list = list
    return list
  })
}

async function folderTimes(folder: string): Promise<string> {
  const { dev, ino, mtimeNs, ctimeNs } = await stat(folder, { bigint: true })
  return [dev, ino, mtimeNs, ctimeNs].join(' ')
}

async function readNames(folder: string): Promise<Buffer> {
  const entries = await readdir(folder, { withFileTypes: true })
  const names = entries.filter((entry) => entry.isFile()).map(({ name }) => name)
  return Buffer.from(JSON.stringify(names.sort()))
}
