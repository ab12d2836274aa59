import { globSync } from 'node:fs'
import { join } from 'node:path'

const ROOT = join(import.meta.dirname, '../..')
const EVERYTHING = '{packages,services,launcher,cli,bench,test,e2e}/**/*.test.ts'
const INSIDE = '{packages,services,launcher,cli,bench,test}/**/*.test.ts'
const FLOWS = 'e2e/flows/*.test.ts'

export type Part = 'first' | 'fast' | 'all' | 'rest' | 'root'

type Selection = {
  flag: string
  says: string
  /** Files by folder and suffix; CONTRIBUTING.md has the table. */
  includes: (file: string) => boolean
  pattern: string[]
  /** Which tests of those files run, by their tags. */
  tags?: string
  hasChecks?: boolean
  hasBrowser?: boolean
  env?: Record<string, string>
}

const isForAll = (file: string) =>
  file.endsWith('.all.test.ts') || (file.startsWith('e2e/') && !file.startsWith('e2e/flows/'))

/** The parts of the tests that a command can run. */
export const PARTS: Record<Part, Selection> = {
  first: {
    flag: '--first',
    says: 'npm test: complete enough to convince, in minutes',
    pattern: [INSIDE, FLOWS],
    includes: (file) => !isForAll(file),
    tags: 'not all',
    hasChecks: true,
    hasBrowser: true,
    env: { PROPERTY_RUNS_DIVISOR: '10' },
  },
  fast: {
    flag: '--fast',
    says: 'npm run check: the same without a browser',
    pattern: [INSIDE],
    includes: (file) => !isForAll(file),
    tags: 'not all',
    hasChecks: true,
    env: { PROPERTY_RUNS_DIVISOR: '10' },
  },
  all: {
    flag: '--all',
    says: 'npm run test:all: everything',
    pattern: [EVERYTHING],
    includes: () => true,
    hasChecks: true,
    hasBrowser: true,
  },
  rest: {
    flag: '--rest',
    says: 'npm run test:all -- --rest: what npm test left out',
    pattern: [EVERYTHING],
    includes: (file) => !file.startsWith('e2e/flows/'),
    tags: 'all or property',
    hasBrowser: true,
  },
  root: {
    flag: '--root',
    says: 'npm run test:all -- --root: only the tests that need root',
    pattern: [INSIDE],
    includes: (file) => /\.root\.(\w+\.)*test\.ts$/.test(file),
    tags: 'root',
  },
}

export function filesOf(part: Part): string[] {
  const { pattern, includes } = PARTS[part]
  const exclude = ['**/node_modules/**']
  return globSync(pattern, { cwd: ROOT, exclude }).filter(includes).sort()
}

/**
 * Which tests of a file run. A file that only `npm run test:all` runs needs no tags: all its tests belong there.
 * With `TEST_ROOT=apart`, tests that need root are left to `npm run test:all -- --root`.
 */
export function tagsFor(file: string, part: Part, rootApart = process.env.TEST_ROOT === 'apart') {
  const { tags } = PARTS[part]
  const wanted = isForAll(file) && part !== 'root' ? [] : tags ? [`(${tags})`] : []
  if (rootApart && part !== 'root') wanted.push('not root')
  return wanted.length > 0 ? wanted.join(' and ') : undefined
}
