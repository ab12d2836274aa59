import { execFile } from 'node:child_process'
import { globSync } from 'node:fs'
import { mkdir } from 'node:fs/promises'
import { delimiter, join } from 'node:path'
import { promisify } from 'node:util'

const run = promisify(execFile)
const FOLDER = join(import.meta.dirname, '../.cache/node-20')

/** A Node 20: this machine's own, or the npm package of it. Throws where there is neither. */
export async function oldNode(): Promise<string> {
  const folders = (process.env.PATH ?? '').split(delimiter)
  for (const path of globSync(folders.map((folder) => join(folder, 'node')))) {
    const { stdout } = await run(path, ['--version']).catch(() => ({ stdout: '' }))
    if (stdout.startsWith('v20.')) return path
  }
  const name = `node-${process.platform}-${process.arch}`
  await mkdir(FOLDER, { recursive: true })
  const quiet = ['--prefix', FOLDER, '--no-save', '--no-audit', '--no-fund', '--ignore-scripts']
  await run('npm', ['install', ...quiet, `${name}@20.20.2`], { timeout: 300_000 })
  return join(FOLDER, 'node_modules', name, 'bin/node')
}
