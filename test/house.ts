/**
 * `node test/house.ts` prints code statistics: for each package its files, lines, largest folder and
 * import cycles, and for seven requests the number of files they pass through.
 */
import { globSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { requestFiles } from './architecture/request-files.ts'
import { cycles, folderEntries } from './architecture/rooms.ts'
import { read } from './architecture/source.ts'

const ROOT = join(import.meta.dirname, '..')

const packages = globSync('{packages,services}/*', { cwd: ROOT }).sort()
console.table(Object.fromEntries(packages.map((folder) => [folder, sizeOf(folder)])))
const requests = await requestFiles()
console.table(
  Object.fromEntries(
    requests.map(({ request, own, kit }) => [
      request,
      { 'own files': own.length, kit: kit.length },
    ]),
  ),
)
if (process.argv.includes('--files'))
  for (const { request, own, kit } of requests)
    console.log(`\n${request}\n  ${[...own, ...kit].join('\n  ')}`)

function sizeOf(folder: string) {
  const files = globSync(`${folder}/**/*.{ts,tsx,css}`, {
    cwd: ROOT,
    exclude: ['**/node_modules/**', '**/dist/**', '**/test/**', '**/testing/**', '**/*.test.ts'],
  }).map((path) => read({ path, source: readFileSync(join(ROOT, path), 'utf8') }))
  const inside = folderEntries(files.map(({ path }) => path)).filter((each) =>
    each.folder.startsWith(`${folder}/`),
  )
  return {
    files: files.length,
    lines: files.reduce((sum, { source }) => sum + source.split('\n').length - 1, 0),
    'most entries in a folder': Math.max(0, ...inside.map(({ entries }) => entries.length)),
    cycles: cycles(files).length,
  }
}
