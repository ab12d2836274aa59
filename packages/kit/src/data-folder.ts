import { mkdirSync } from 'node:fs'
import { StartError } from './start-error.ts'

const OWNER_ONLY = 0o700
const UNUSABLE = /^(EACCES|EEXIST|ENOENT|ENOSPC|ENOTDIR|EPERM|EROFS|SQLITE_(CANTOPEN|READONLY))/

/** Makes a folder that is missing, for ourselves alone; one that is there keeps its mode. */
export function makeDataFolder(folder: string, setting: string): void {
  inDataFolder(folder, setting, () => {})
}

/** The same, then does `work` in it. A folder that cannot be used is named with its setting. */
export function inDataFolder<T>(folder: string, setting: string, work: () => T): T {
  try {
    mkdirSync(folder, { recursive: true, mode: OWNER_ONLY })
    return work()
  } catch (error) {
    const { code = '', message } = error as NodeJS.ErrnoException
    if (!UNUSABLE.test(code)) throw error
    const reason = `The folder ${folder} cannot be used: ${message}. Choose another with ${setting}.`
    throw new StartError(reason, { cause: error })
  }
}
