import { lstat } from 'node:fs/promises'
import { storageFull } from '@plinth/kit'
import { probeObject, runProbe } from './probe.ts'
import type { ProbeStep, StorageProvider } from './provider.ts'

type LocalTarget = {
  folder: string
  /** The folder that is written to. */
  own: string
  /** Its name, when files were put there before. */
  prefix: string | undefined
  spoolFolder: string
}

/** Creates nothing that is missing: otherwise a disk that is not mounted would pass. */
export async function localProbe(
  target: LocalTarget,
  provider: StorageProvider,
): Promise<ProbeStep[]> {
  const object = probeObject(provider, target)
  const { folder, prefix } = target
  const adviseContents = () =>
    `The folder is there, but not ${prefix}, in which this service keeps its files: mount the disk that has it, or restore it.`
  return runProbe([
    { name: 'folder', run: () => requireFolder(folder), advise: adviseFolder },
    { name: 'contents', run: () => requireContents(target), advise: adviseContents },
    { name: 'write', run: object.write, advise: adviseWrite },
    { name: 'read back', run: object.readBack, advise: () => 'The folder gave back other bytes.' },
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
    return 'The folder cannot be looked at: give the user the service runs as the right to.'
  return 'The path is not a folder: choose another one, or move away what is there.'
}

async function requireContents({ own, prefix }: LocalTarget): Promise<string> {
  if (prefix === undefined) return 'Nothing was put there yet.'
  await requireFolder(own)
  return 'It is the folder files were put into before.'
}

function adviseWrite(error: unknown): string {
  if (storageFull.is(error))
    return 'The disk is full: free some space or choose a folder on another disk.'
  return 'The folder, or .incoming below the storage root, where uploads wait, is not writable: give the user the service runs as the right to write in both.'
}
