import assert from 'node:assert/strict'
import { dirname, join, resolve } from 'node:path'
import { describe, test } from 'node:test'
import { Problem } from '@plinth/kit/problems'
import { propertyRuns } from '@plinth/kit/testing'
import { assert as check, constantFrom, oneof, property, string, stringMatching } from 'fast-check'
import { requestedName } from './request-target.ts'

/** The problem's message, or undefined when the name is flat. */
function faultOf(name: string): string | undefined {
  try {
    assert.equal(requestedName(`/file/${encodeURIComponent(name)}`, 'file'), name)
  } catch (error) {
    if (!(error instanceof Problem)) throw error
    return error.message
  }
}

describe('a requested name', () => {
  const invalid = 'This is not a valid file name.'
  const climbing = 'The name leads out of the storage folder.'
  const absolute = 'Absolute names are not accepted.'
  const nested = 'A file name has one part only.'
  for (const [name, expected] of [
    ['a.png', undefined],
    ['...', undefined],
    ['..a', undefined],
    ['%2e%2e', undefined],
    ['\u2215etc', undefined],
    ['．．／', undefined],
    ['a'.repeat(255), undefined],
    ['a'.repeat(256), invalid],
    ['ä'.repeat(128), invalid],
    ['', invalid],
    ['  ', invalid],
    ['a\0.png', invalid],
    ['a\n', invalid],
    ['\x7f', invalid],
    ['..', climbing],
    ['../x', climbing],
    ['..\\x', climbing],
    ['a/../../x', climbing],
    ['a\\..\\..\\x', climbing],
    ['/../x', climbing],
    ['./..', climbing],
    ['a/b/../../..', climbing],
    ['/etc/passwd', absolute],
    ['C:\\x', absolute],
    ['c:/x', absolute],
    ['\\\\server\\x', absolute],
    ['a/b', nested],
    ['a\\b', nested],
    ['a/', nested],
    ['a/..', nested],
    ['.', nested],
  ] as const)
    test(`${JSON.stringify(name.slice(0, 20))}: ${expected ?? 'is flat'}`, () => {
      assert.equal(faultOf(name), expected)
    })

  test('with a lone surrogate is invalid', () => {
    assert.throws(() => requestedName('/file/%ed%a0%80', 'file'), { message: invalid })
  })

  test('never leaves its folder if it is flat, whatever characters it has', {
    tags: ['property'],
  }, () => {
    const tricky = stringMatching(/^[./\\:A-Ca-c%~ ]{0,12}$/)
    const name = oneof(string({ unit: 'binary' }), tricky, constantFrom('..', '.', '~', '/'))
    check(
      property(name, (text) => {
        if (!text.isWellFormed() || faultOf(text) !== undefined) return
        assert.equal(dirname(resolve(join('/srv/files', text))), '/srv/files')
      }),
      { numRuns: propertyRuns(2000) },
    )
  })
})
