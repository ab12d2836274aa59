import { mkdir } from 'node:fs/promises'
import { dirname, join } from 'node:path'
import { syncFolder } from '@plinth/kit'

/**
 * Makes the folders of a path, one below the other, so that they last. What they begin in is never
 * made: a root that is missing is a disk that is not mounted.
 */
export async function makeFolders(root: string, path: string): Promise<void> {
  let folder = root
  for (const name of path.split('/')) {
    folder = join(folder, name)
    await makeFolder(folder)
  }
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(folder))
}
