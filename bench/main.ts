/** `npm run bench [-- name…]`: runs `bench/*.bench.ts`, or those named, and prints one table. */
import { globSync } from 'node:fs'
import { basename } from 'node:path'
import type { Row } from './harness.ts'
import { tableOf } from './table.ts'

const wanted = process.argv.slice(2)
const files = globSync('*.bench.ts', { cwd: import.meta.dirname })
  .sort()
  .filter((file) => wanted.length === 0 || wanted.includes(basename(file, '.bench.ts')))

const rows: Row[] = []
for (const file of files) {
  process.stderr.write(`${file} …\n`)
  const { default: bench } = await import(`./${file}`)
  rows.push(...((await bench()) as Row[]))
}

console.log(tableOf(rows))
process.exitCode = rows.some((row) => row.met === false) ? 1 : 0
