import { execFile } from 'node:child_process'
import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { promisify } from 'node:util'

/** Holds `data`, the folder that 1.0.0 left, and `expected.json`, what its API said about it. */
const ARCHIVE = join(import.meta.dirname, 'data-1.0.tar.gz')

/** Puts the data folder of 1.0.0 into `folder`; returns what is expected of it. */
export async function extractDataOfOneZero(folder: string) {
  await promisify(execFile)('tar', ['-xzf', ARCHIVE, '-C', folder])
  return JSON.parse(await readFile(join(folder, 'expected.json'), 'utf8'))
}
