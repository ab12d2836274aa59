import { link, lstat, unlink } from 'node:fs/promises'

/** Not across disks, and not on every kind of disk. A symbolic link is refused, as in a download. */
export async function linkFile(source: string, path: string): Promise<boolean> {
  try {
    await link(source, path)
  } catch {
    return false
  }
  if ((await lstat(path)).isFile()) return true
  await unlink(path)
  return false
}
