/**
 * `node test/house.ts` prints code statistics: for each package its files, lines and import cycles.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cycles } from './architecture/rooms.ts'
import { read } from './architecture/source.ts'

const ROOT = join(import.meta.dirname, '..')

const packages = globSync('{packages,services}/*', { cwd: ROOT }).sort()
console.table(Object.fromEntries(packages.map((folder) => [folder, sizeOf(folder)])))

function sizeOf(folder: string) {
  const files = globSync(`${folder}/**/*.{ts,tsx,css}`, {
    cwd: ROOT,
    exclude: ['**/node_modules/**', '**/dist/**', '**/test/**', '**/testing/**', '**/*.test.ts'],
  }).map((path) => read({ path, source: readFileSync(join(ROOT, path), 'utf8') }))
  return {
    files: files.length,
    lines: files.reduce((sum, { source }) => sum + source.split('\n').length - 1, 0),
    cycles: cycles(files).length,
  }
}
