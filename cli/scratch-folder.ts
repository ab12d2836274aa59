import { existsSync, mkdtempSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import type { Env } from '@plinth/kit/runtime'

const NOT_WRITABLE = ['EROFS', 'EACCES', 'EPERM', 'ENOENT']

/**
 * A new folder that is removed soon: among the temporary files or, on a machine where only the data may be written, in
 * the data folder or where that will be.
 */
export function scratchFolder(prefix: string, { SUITE_DATA = 'data' }: Env): string {
  try {
    return mkdtempSync(join(tmpdir(), prefix))
  } catch (error) {
    if (!NOT_WRITABLE.includes((error as NodeJS.ErrnoException).code ?? '')) throw error
    return mkdtempSync(join(existing(resolve(SUITE_DATA)), `.${prefix}`))
  }
}

function existing(folder: string): string {
  return existsSync(folder) ? folder : existing(dirname(folder))
}
