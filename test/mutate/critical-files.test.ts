import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { CRITICAL, EQUIVALENT, isEquivalent } from './critical-files.ts'
import { changedLines, mutationsOf } from './mutations.ts'
import { sampleOf } from './survey.ts'

const ROOT = join(import.meta.dirname, '../..')
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')

describe('the critical files', () => {
  test('exist, have tests that exist, and are listed once', () => {
    const listed = CRITICAL.flatMap(({ file, tests }) => [file, ...tests])
    const missing = listed.filter((path) => !existsSync(join(ROOT, path)))

    assert.deepEqual(missing, [])
    assert.equal(new Set(CRITICAL.map(({ file }) => file)).size, CRITICAL.length)
    for (const { file, tests } of CRITICAL) assert.ok(tests.length > 0, file)
  })

  test('still contain every fault that is listed as equivalent', () => {
    const outdated = EQUIVALENT.filter(({ file, fault, line }) => {
      const source = read(file)
      const known = mutationsOf(source).filter((mutation) => isEquivalent(file, source, mutation))
      return !known.some((one) => one.what === fault && changedLines(source, one).after[0] === line)
    })

    assert.deepEqual(outdated, [])
  })
})

describe('the sample of faults in a file', () => {
  const rule = (index: number) =>
    `export const rule${index} = (n: number) => n > ${index} && !off\n`
  const sourceOf = (rules: number) =>
    Array.from({ length: rules }, (_, index) => rule(index)).join('')
  const linesOf = (source: string) =>
    sampleOf(source, mutationsOf(source)).map((one) => changedLines(source, one).after[0])

  test('has five, or six if there are more than forty', () => {
    assert.deepEqual([linesOf(sourceOf(10)).length, linesOf(sourceOf(11)).length], [5, 6])
    assert.equal(linesOf('export const isOff = !on\n').length, 1)
  })

  test('stays the same when lines are added elsewhere', () => {
    const source = sourceOf(10)

    assert.deepEqual(linesOf(`// A comment\n\nconst off = isOff()\n${source}`), linesOf(source))
  })
})
