import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { assert as check, constantFrom, oneof, property, string, stringMatching } from 'fast-check'
import { propertyRuns } from '../../testing/property-runs.ts'
import { linkOnTheWay, pathFault } from './contained-path.ts'

describe('what keeps a path from being one flat name', () => {
  for (const [path, expected] of [
    ['a.png', undefined],
    ['...', undefined],
    ['..a', undefined],
    ['%2e%2e', undefined],
    ['\u2215etc', undefined],
    ['．．／', undefined],
    ['a'.repeat(255), undefined],
    ['a'.repeat(256), 'invalid'],
    ['ä'.repeat(128), 'invalid'],
    ['', 'invalid'],
    ['  ', 'invalid'],
    ['a\0.png', 'invalid'],
    ['a\n', 'invalid'],
    ['\x7f', 'invalid'],
    ['\ud800', 'invalid'],
    ['..', 'climbing'],
    ['../x', 'climbing'],
    ['..\\x', 'climbing'],
    ['a/../../x', 'climbing'],
    ['a\\..\\..\\x', 'climbing'],
    ['/../x', 'climbing'],
    ['./..', 'climbing'],
    ['a/b/../../..', 'climbing'],
    ['/etc/passwd', 'absolute'],
    ['C:\\x', 'absolute'],
    ['c:/x', 'absolute'],
    ['\\\\server\\x', 'absolute'],
    ['a/b', 'nested'],
    ['a\\b', 'nested'],
    ['a/', 'nested'],
    ['a/..', 'nested'],
    ['.', 'nested'],
  ] as const)
    test(`${JSON.stringify(path.slice(0, 20))} is ${expected ?? 'flat'}`, () => {
      assert.equal(pathFault(path), expected)
    })

  test('a flat name never leaves its folder, whatever characters it has', () => {
    const tricky = stringMatching(/^[./\\:A-Ca-c%~ ]{0,12}$/)
    const name = oneof(string({ unit: 'binary' }), tricky, constantFrom('..', '.', '~', '/'))
    check(
      property(name, (text) => {
        if (pathFault(text) !== undefined) return
        assert.equal(dirname(resolve(join('/srv/files', text))), '/srv/files')
      }),
      { numRuns: propertyRuns(2000) },
    )
  })
})

describe('links on the way', () => {
  test('finds a link in any part, and none where nothing exists yet', async (t) => {
    const root = mkdtempSync(join(tmpdir(), 'plinth-links-'))
    t.after(() => rmSync(root, { recursive: true }))
    symlinkSync('/etc', join(root, 'out'))

    assert.equal(await linkOnTheWay(root, 'out/x'), 'out')
    assert.equal(await linkOnTheWay(root, './out'), 'out')
    assert.equal(await linkOnTheWay(root, 'a/b/c'), undefined)
  })
})
