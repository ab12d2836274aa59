import { globSync, readFileSync } from 'node:fs'
import { basename, dirname, join, relative } from 'node:path'

const SOURCES = '{packages,services,launcher,bench,test,e2e}/**/*.ts'
const GENERIC = /^(|t|test|index|app|route|repository|database)$/
const IMPORTED = /\b(?:from|import)\s*\(?\s*'([^']+)'/g

/**
 * The tests of a file's package that import it, directly or indirectly. First those that import it
 * directly or share a word with its name, because they notice most faults, then the others.
 */
export function importingTests(root: string, file: string): string[][] {
  const importers = importersIn(root)
  const reached = new Set([file])
  for (const path of reached)
    for (const importer of importers.get(path) ?? []) reached.add(importer)
  const tests = [...reached].filter(
    (path) => path.endsWith('.test.ts') && packageOf(path) === packageOf(file),
  )
  const words = wordsOf(file)
  const isNear = (test: string) =>
    importers.get(file)?.includes(test) || words.intersection(wordsOf(basename(test))).size > 0
  const { near = [], far = [] } = Object.groupBy(tests, (test) => (isNear(test) ? 'near' : 'far'))
  return [near, far].filter((stage) => stage.length > 0)
}

/** `services/payments/src/webhooks/receive.ts` → webhook, receive */
function wordsOf(path: string): Set<string> {
  const words = path.replace(/^.*\/src\//, '').split(/[^a-z]+/)
  return new Set(words.map((word) => word.replace(/s$/, '')).filter((word) => !GENERIC.test(word)))
}

/** The package or folder that a file belongs to: `services/payments`, `launcher`. */
export function packageOf(file: string): string {
  const [folder = '', name = ''] = file.split('/')
  return /^(packages|services)$/.test(folder) ? `${folder}/${name}` : folder
}

function importersIn(root: string): Map<string, string[]> {
  const importers = new Map<string, string[]>()
  const exported = exportsIn(root)
  for (const path of globSync(SOURCES, {
    cwd: root,
    exclude: ['**/node_modules/**', '**/dist/**'],
  }))
    for (const [, name = ''] of readFileSync(join(root, path), 'utf8').matchAll(IMPORTED)) {
      const target = name.startsWith('.') ? join(dirname(path), name) : exported.get(name)
      if (target) importers.getOrInsertComputed(target, () => []).push(path)
    }
  return importers
}

/** `@plinth/kit/testing` → `packages/kit/testing/index.ts` */
function exportsIn(root: string): Map<string, string> {
  const manifests = globSync('{packages,services}/*/package.json', { cwd: root })
  return new Map(
    manifests.flatMap((manifest) => {
      const { name, exports = {} } = JSON.parse(readFileSync(join(root, manifest), 'utf8'))
      return Object.entries<string>(exports).map(([entry, target]) => [
        join(name, entry),
        relative('.', join(dirname(manifest), target)),
      ])
    }),
  )
}
