import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, relative } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
const MOST_FILES = 8

/** Test files that measure their process need their own; those that start processes gain nothing from sharing. */
const ALONE = new RegExp(
  [
    'memoryUsage|cpuUsage|resourceUsage|_getActiveHandles|/proc/self/fd',
    'child_process|spawn|crash|startS3|launch\\.ts|Here\\(',
  ].join('|'),
)

/**
 * The modules to run, each in its own process: a test file, or a temporary module that imports several test
 * files of one package. These load the same code, so sharing a process halves their CPU time.
 */
export function batchesOf(files: string[]): string[] {
  const { alone = [], together = [] } = Object.groupBy(files, (file) =>
    ALONE.test(readFileSync(file, 'utf8')) ? 'alone' : 'together',
  )
  const folder = mkdtempSync(join(tmpdir(), 'plinth-batches-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const batches = Map.groupBy(together, packageOf).values().flatMap(inBatches)
  const modules = batches.map((batch, place) => moduleOf(batch, join(folder, `${place}.test.mjs`)))
  return [...alone, ...modules]
}

/** For example `services/identity`. */
function packageOf(file: string): string {
  return relative(ROOT, file).split('/', 2).join('/')
}

function inBatches(files: string[]): string[][] {
  const count = Math.ceil(files.length / MOST_FILES)
  return Array.from({ length: count }, (_, place) =>
    files.slice(place * MOST_FILES, (place + 1) * MOST_FILES),
  )
}

function moduleOf(batch: string[], path: string): string {
  const [first = '', ...others] = batch
  if (others.length === 0) return first
  const imports = batch.map((file) => `import ${JSON.stringify(pathToFileURL(file).href)}\n`)
  writeFileSync(path, imports.join(''))
  return path
}
