import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { read, SOURCES } from './tree.ts'

const PAGE = read('docs/openid-conformance.md')
const MODULES = read('services/identity/test/openid-conformance.test.ts')
const TESTS = SOURCES.filter((file) => /^(services\/identity\/test|e2e)\/.*\.test\.ts$/.test(file))
  .map(read)
  .join('\n')

/** The rows of the table under a title, without its heading. */
function rowsOf(title: string): string[][] {
  const section = PAGE.split(/^## /m).find((text) => text.startsWith(`${title}\n`)) ?? ''
  const rows = [...section.matchAll(/^\| (.+) \|$/gm)].map(([, row = '']) => row.split(' | '))
  return rows.slice(1)
}

describe('the page about the proof of the OpenID provider', () => {
  test('lists every module that has a test, and no other', () => {
    const listed = rowsOf('The certification plans').map(([name = '']) => name.replaceAll('`', ''))
    const tested = new Set(MODULES.match(/oidcc-[\w-]+/g))

    assert.deepEqual(listed.toSorted(), [...tested].toSorted())
  })

  for (const title of ['Client libraries', 'Known attacks', 'Ends and crashes'])
    test(`names tests that exist: ${title}`, () => {
      const rows = rowsOf(title)

      assert.ok(rows.length > 0)
      for (const [, name = ''] of rows) assert.ok(TESTS.includes(`('${name}'`), name)
    })
})
