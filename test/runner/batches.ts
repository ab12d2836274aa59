import { mkdtempSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { pathToFileURL } from 'node:url'

const ROOT = join(import.meta.dirname, '../..')
/** A batch starts about as many seconds of tests as this; a longer file is a batch of its own. */
const BATCH_SECONDS = 40
const MAX_FILES = 40
const HOUSE_RULES = 'test/architecture.test.ts'

export type TestFile = { path: string; tags?: string | undefined; seconds?: number }

/** What one process runs: a test file, or a temporary module that imports several. */
export type Batch = { module: string; files: TestFile[]; tags: string | undefined; seconds: number }

/**
 * Files of one package load the same code, so running them in one process halves their CPU time. A file
 * `*.alone.test.ts` measures its process or changes it for good, and has it for itself.
 * The longest come first, after the rules of the house, so that a broken rule shows at once.
 */
export function batchesOf(files: TestFile[]): Batch[] {
  const groups = Map.groupBy(files, ({ path, tags = '' }) =>
    isAlone(path) ? path : `${packageOf(path)} ${tags}`,
  )
  const batches = [...groups.values()].flatMap(inBatches)
  return batches.map((batch) => batchOf(batch)).sort((a, b) => rankOf(b) - rankOf(a))
}

function rankOf({ files, seconds }: Batch): number {
  return files.some(({ path }) => path === HOUSE_RULES) ? Number.POSITIVE_INFINITY : seconds
}

function isAlone(path: string): boolean {
  return /\.alone\.(all\.)?test\.\w+$/.test(path)
}

/** All end-to-end tests load the whole suite and share a browser, so they are one package. */
function packageOf(path: string): string {
  return path.startsWith('e2e/') ? 'e2e' : path.split('/', 2).join('/')
}

function inBatches(files: TestFile[]): TestFile[][] {
  const batches: TestFile[][] = []
  let seconds = 0
  for (const file of files) {
    const last = batches.at(-1)
    const own = file.seconds ?? 1
    if (last && seconds + own <= BATCH_SECONDS && last.length < MAX_FILES) last.push(file)
    else batches.push([file])
    seconds = batches.at(-1) === last ? seconds + own : own
  }
  return batches
}

let folder: string | undefined
let modules = 0

/** A module that cannot be loaded keeps the others of its process from running. */
export function eachAlone({ files }: Batch): Batch[] {
  return files.map((file) => batchOf([file]))
}

function batchOf(files: TestFile[]): Batch {
  const paths = files.map(({ path }) => resolve(ROOT, path))
  const seconds = files.reduce((sum, { seconds = 1 }) => sum + seconds, 0)
  const batch = { files, tags: files[0]?.tags, seconds }
  const [first = '', ...others] = paths
  if (others.length === 0) return { ...batch, module: first }
  folder ??= mkdtempSync(join(tmpdir(), 'plinth-batches-'))
  const module = join(folder, `${modules++}.test.mjs`)
  const imports = paths.map((path) => `import ${JSON.stringify(pathToFileURL(path).href)}\n`)
  writeFileSync(module, imports.join(''))
  return { ...batch, module }
}
