import { randomUUID } from 'node:crypto'
import { copyFile, mkdir, open, rename, rm } from 'node:fs/promises'
import { dirname } from 'node:path'
import { failPoint, syncFolder } from '@plinth/kit'

/**
 * Gives a complete file its name so that it is there after a power cut, or not at all; what had
 * the name before is replaced. The folder two levels up must exist: a store whose disk is not
 * mounted is not made anew on another disk.
 */
export async function publishFile(source: string, target: string): Promise<void> {
  await makeFolder(dirname(target))
  await flush(source)
  failPoint('local-put:flushed')
  await moveOrCopy(source, target)
  failPoint('local-put:named')
  await syncFolder(dirname(target))
}

async function makeFolder(folder: string): Promise<void> {
  try {
    await mkdir(folder)
  } catch (error) {
    if (codeOf(error) === 'EEXIST') return
    throw error
  }
  await syncFolder(dirname(folder))
}

async function moveOrCopy(source: string, target: string): Promise<void> {
  try {
    await rename(source, target)
  } catch (error) {
    if (codeOf(error) !== 'EXDEV') throw error
    await copyInto(source, target)
  }
}

/** For a store on another disk than the spool folder. */
async function copyInto(source: string, target: string): Promise<void> {
  const partial = `${target}.${randomUUID()}.partial`
  try {
    await copyFile(source, partial)
    await flush(partial)
    await rename(partial, target)
  } catch (error) {
    await rm(partial, { force: true })
    throw error
  }
}

async function flush(path: string): Promise<void> {
  const handle = await open(path, 'r')
  try {
    await handle.sync()
  } finally {
    await handle.close()
  }
}

function codeOf(error: unknown): string {
  return (error as NodeJS.ErrnoException).code ?? ''
}
