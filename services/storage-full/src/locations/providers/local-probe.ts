import { lstat } from 'node:fs/promises'
import { storageFull, storageReadOnly } from '@plinth/kit/problems'
import { probeObject, runProbe } from './probe.ts'
import type { ProbeStep, StorageProvider } from './provider.ts'

type LocalTarget = {
  folder: string
  /** The folder that objects are written to. */
  own: string
  /** Its name, if files have been stored there before. */
  prefix: string | undefined
  spoolFolder: string
}

/** Never creates a missing folder: otherwise a disk that is not mounted would pass. */
export async function localProbe(
  target: LocalTarget,
  provider: StorageProvider,
): Promise<ProbeStep[]> {
  const object = probeObject(provider, target)
  const { folder, prefix } = target
  const adviseContents = () =>
    `The folder exists, but not ${prefix}, in which this service keeps its files: mount the disk that has it, or restore it.`
  return runProbe([
    { name: 'folder', run: () => requireFolder(folder), advise: adviseFolder },
    { name: 'contents', run: () => requireContents(target), advise: adviseContents },
    { name: 'write', run: object.write, advise: adviseWrite },
    {
      name: 'read back',
      run: object.readBack,
      advise: () => 'The folder returned different bytes.',
    },
    { name: 'delete', run: object.remove, advise: () => 'The service may not delete here.' },
  ])
}

async function requireFolder(folder: string): Promise<string> {
  const found = await lstat(folder)
  if (!found.isDirectory()) throw new Error('not a folder')
  return 'The folder is there.'
}

function adviseFolder(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ENOENT')
    return 'The folder does not exist: mount its disk, or create it below the storage root.'
  if (code === 'EACCES' || code === 'EPERM')
    return 'The folder cannot be accessed: give the user the service runs as permission to read it.'
  return 'The path is not a folder: choose another one, or move what is there out of the way.'
}

async function requireContents({ own, prefix }: LocalTarget): Promise<string> {
  if (prefix === undefined) return 'No files have been stored there yet.'
  await requireFolder(own)
  return 'It is the folder that files were stored in before.'
}

function adviseWrite(error: unknown): string {
  if (storageFull.is(error))
    return 'The disk is full: free some space or choose a folder on another disk.'
  if (storageReadOnly.is(error))
    return 'The disk is read-only: mount it so that it can be written, or choose a folder on another disk.'
  return 'The folder, or .incoming below the storage root, where uploads wait, is not writable: give the user the service runs as permission to write to both.'
}
