import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { failedPrecondition, ifRangeMatches } from './send-file.ts'

const CURRENT = { etag: '"a,b"', lastModified: new Date('2030-01-02T03:04:05.678Z') }
const AT = 'Wed, 02 Jan 2030 03:04:05 GMT'
const BEFORE = 'Wed, 02 Jan 2030 03:04:04 GMT'
const AFTER = 'Wed, 02 Jan 2030 03:04:06 GMT'

describe('conditions of RFC 9110 section 13', () => {
  for (const [what, headers, expected] of [
    ['no condition', {}, undefined],
    ['If-Match names the tag', { 'if-match': '"x", "a,b"' }, undefined],
    ['If-Match names another tag', { 'if-match': '"x"' }, 412],
    ['If-Match names the tag weakly', { 'if-match': 'W/"a,b"' }, 412],
    ['If-Match *', { 'if-match': '*' }, undefined],
    ['If-Unmodified-Since at the change', { 'if-unmodified-since': AT }, undefined],
    ['If-Unmodified-Since before the change', { 'if-unmodified-since': BEFORE }, 412],
    ['If-Match wins over the date', { 'if-match': '*', 'if-unmodified-since': BEFORE }, undefined],
    ['If-None-Match names the tag', { 'if-none-match': '"a,b"' }, 304],
    ['If-None-Match names the tag weakly', { 'if-none-match': '"x", W/"a,b"' }, 304],
    ['If-None-Match *', { 'if-none-match': '*' }, 304],
    ['If-None-Match names another', { 'if-none-match': '"x"' }, undefined],
    ['If-Modified-Since at the change', { 'if-modified-since': AT }, 304],
    ['If-Modified-Since after the change', { 'if-modified-since': AFTER }, 304],
    ['If-Modified-Since before the change', { 'if-modified-since': BEFORE }, undefined],
    ['the tag wins', { 'if-none-match': '"x"', 'if-modified-since': AT }, undefined],
    ['an invalid date', { 'if-modified-since': 'yesterday' }, undefined],
    ['a bare year', { 'if-modified-since': '2040' }, undefined],
    ['the RFC 850 form', { 'if-modified-since': 'Wednesday, 02-Jan-30 03:04:05 GMT' }, 304],
    ['the asctime form', { 'if-modified-since': 'Wed Jan  2 03:04:05 2030' }, 304],
  ] as const)
    test(`${what}: ${expected ?? 'proceeds'}`, () => {
      assert.equal(failedPrecondition(headers, CURRENT), expected)
    })
})

describe('If-Range', () => {
  for (const [header, expected] of [
    [undefined, true],
    ['"a,b"', true],
    ['W/"a,b"', false],
    ['"x"', false],
    [AT, true],
    [AFTER, false],
    [BEFORE, false],
    ['nonsense', false],
  ] as const)
    test(`${header} ${expected ? 'allows' : 'forbids'} the range`, () => {
      assert.equal(ifRangeMatches(header, CURRENT), expected)
    })

  test('nonsense forbids the range even when the file has no date', () => {
    assert.equal(ifRangeMatches('nonsense', { etag: '"x"', lastModified: undefined }), false)
  })
})
