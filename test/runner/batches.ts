import { hash } from 'node:crypto'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
const MOST_FILES = 8

/** Who measures the process needs one of its own, and who starts others gains nothing from company. */
const ALONE = /child_process|spawn|crash|Here\(|memoryUsage|cpuUsage|_getActiveHandles/

/**
 * The modules to run in a process each: test files, and others, written to `folder`, that import several.
 * Those of one package load the same modules; sharing a process halves their processor time.
 */
export function batchesOf(files: string[], folder: string): string[] {
  const { alone = [], together = [] } = Object.groupBy(files, (file) =>
    ALONE.test(readFileSync(file, 'utf8')) ? 'alone' : 'together',
  )
  const batches = Map.groupBy(together, packageOf).values().flatMap(inBatches)
  const modules = batches.map((batch) => moduleOf(batch, folder))
  return [...alone, ...modules]
}

/** Such as `services/identity`. */
function packageOf(file: string): string {
  return relative(ROOT, file).split('/', 2).join('/')
}

function inBatches(files: string[]): string[][] {
  const count = Math.ceil(files.length / MOST_FILES)
  return Array.from({ length: count }, (_, place) =>
    files.slice(place * MOST_FILES, (place + 1) * MOST_FILES),
  )
}

/** Named by what it imports: another run writes the same to it, or has another. */
function moduleOf(batch: string[], folder: string): string {
  const [first = '', ...others] = batch
  if (others.length === 0) return first
  const imports = batch.map((file) => `import '${pathToFileURL(file).href}'\n`).join('')
  const path = join(folder, `${hash('sha256', imports).slice(0, 16)}.test.mjs`)
  mkdirSync(folder, { recursive: true })
  writeFileSync(path, imports)
  return path
}
