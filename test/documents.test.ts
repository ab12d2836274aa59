import assert from 'node:assert/strict'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, dirname, join } from 'node:path'
import { describe, test } from 'node:test'

const ROOT = join(import.meta.dirname, '..')
const DOCUMENTS = globSync('{*.md,docs/**/*.md,packages/*/*.md,services/*/*.md,e2e/*.md}', {
  cwd: ROOT,
  exclude: ['docs/specs/**'],
})
const TESTS = new Set(
  globSync('{packages,services,launcher,test,e2e}/**/*.test.ts', { cwd: ROOT }).map((file) =>
    basename(file),
  ),
)
const read = (file: string) => readFileSync(join(ROOT, file), 'utf8')
const README = read('README.md')

describe('the documents', () => {
  test('the README is read in one go', () => {
    assert.ok(README.split('\n').length <= 121)
  })

  test('CI runs what the README tells a newcomer to run', () => {
    const command = /## Test it\n\n```\n(.+)\n```/.exec(README)?.[1] ?? 'missing'

    assert.ok(read('.ci/run').trimEnd().endsWith(`\n${command}`))
  })

  test('every npm script that is mentioned exists', () => {
    const { scripts } = JSON.parse(read('package.json'))

    for (const file of DOCUMENTS)
      for (const [, name = ''] of read(file).matchAll(/npm run ([a-z]+)/g))
        assert.ok(name in scripts, `${file}: npm run ${name}`)
  })

  test('every link to a file leads somewhere', () => {
    for (const file of DOCUMENTS)
      for (const [, target = ''] of read(file).matchAll(/\]\((?!https?:|#)([^)#]+)/g))
        assert.ok(existsSync(join(ROOT, dirname(file), target)), `${file}: ${target}`)
  })

  test('every test file that is named exists', () => {
    // A page may shorten the path: `kit/http/page.test.ts` stands for `packages/kit/src/http/…`.
    for (const file of DOCUMENTS)
      for (const [, path = ''] of read(file).matchAll(/`([\w./-]+\.test\.ts)`/g))
        assert.ok(TESTS.has(basename(path)), `${file}: ${path}`)
  })
})
