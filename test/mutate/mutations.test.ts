import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { mutated, mutationsOf } from './mutations.ts'

/** The mutated source, one version for each fault. */
const versions = (source: string) =>
  mutationsOf(source).map((mutation) => mutated(source, mutation).trim())

describe('small faults', () => {
  for (const [source, ...expected] of [
    ['const x = a === b', 'const x = a !== b'],
    ['const x = a < b && c', 'const x = a <= b && c', 'const x = a < b || c'],
    ['const x = !a', 'const x = a'],
    ['const x = a + b - c', 'const x = a - b - c', 'const x = a + b + c'],
    ['const x = a % 10_000', 'const x = a * 10_000', 'const x = a % 10001'],
    ['const x = true', 'const x = false'],
    ['const x = -1', 'const x = -2'],
    ['if (isOpen(a)) b = c', 'if (!(isOpen(a))) b = c'],
    ['await close(a, () => b)', ';'],
    ['close(a)\nx = y', ';\nx = y'],
    ['if (a.b) throw new Error(c)', 'if (!(a.b)) throw new Error(c)', 'if (a.b) ;'],
    ['function f() { return a.b }', 'function f() { return undefined }'],
    ['const x = a\n  .filter(b)\n  .c()', 'const x = a\n  \n  .c()'],
    ['const x = (a as number) / b', 'const x = (a as number) * b'],
  ] as const)
    test(source, () => assert.deepEqual(versions(source), expected))
})

describe('no fault is made', () => {
  for (const source of [
    "const x = 'a === b && 1'",
    'const x = `a < b`',
    'const x = /a && b[/]c+ 1/.test(y)',
    '// a === b\nconst x = y /* < 1 */',
    'type A = Map<string, 1 | 2>\nconst x: Array<A> = y',
    'const RETRY_MS = 3_000',
    "log.info({ a }, 'b')",
    "import { a } from './b.ts'",
    'const x = { close() { } }',
    'class A { close(b) { } }',
    'const x = (a: number) => ({ b: a })',
    'const x = new Map<string, number>()',
  ])
    test(source, () => assert.deepEqual(versions(source), []))
})

test('an expression in a template literal is code', () => {
  assert.deepEqual(versions(`const x = \`a < \${b ? 1 : c} d\``), [
    `const x = \`a < \${b ? 2 : c} d\``,
  ])
})

test('every version parses', () => {
  const source = 'export const f = <T>(a: T[]): T | undefined => (a.length > 1 ? a[0] : undefined)'

  assert.equal(versions(source).length, 3)
})
