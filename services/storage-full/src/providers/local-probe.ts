import { lstat, mkdir } from 'node:fs/promises'
import { probeObject } from './probe-object.ts'
import { type ProbeStep, runProbe, type StorageProvider } from './provider.ts'

/** Makes the folder when it is not there yet, then writes into it. */
export async function localProbe(folder: string, provider: StorageProvider): Promise<ProbeStep[]> {
  const object = probeObject(provider)
  return runProbe([
    { name: 'folder', run: () => requireFolder(folder), advise: adviseFolder },
    { name: 'write', run: object.write, advise: adviseWrite },
    { name: 'read back', run: object.readBack, advise: () => 'The folder gave back other bytes.' },
    { name: 'delete', run: object.remove, advise: () => 'The service may not delete here.' },
  ])
}

async function requireFolder(folder: string): Promise<string> {
  await mkdir(folder, { recursive: true })
  const found = await lstat(folder)
  if (!found.isDirectory()) throw new Error('not a folder')
  return 'The folder is there.'
}

function adviseFolder(error: unknown): string {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'EACCES' || code === 'EPERM' || code === 'EROFS')
    return 'The folder cannot be made: give the user the service runs as the right to write below the storage root.'
  return 'The path is not a folder: choose another one, or move away what is there.'
}

function adviseWrite(error: unknown): string {
  const { cause } = error as Error
  if (cause instanceof Error && /ENOSPC|EDQUOT/.test(cause.message))
    return 'The disk is full: free some space or choose a folder on another disk.'
  return 'The folder is not writable: give the user the service runs as the right to write in it.'
}
