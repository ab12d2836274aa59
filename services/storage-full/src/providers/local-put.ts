import { mkdir } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failPoint, publishFile, syncFile, syncFolder } from '@plinth/kit'

/**
 * Gives a complete file its name so that it is there after a power cut, or not at all; what had
 * the name before is replaced. The folder two levels up must exist: a store whose disk is not
 * mounted is not made anew on another disk.
 */
export async function putFile(source: string, target: string): Promise<void> {
  await makeFolder(dirname(target))
  await syncFile(source)
  failPoint('local-put:flushed')
  await publishFile(source, target, { replace: true })
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
