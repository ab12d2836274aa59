import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { assert as check, integer, oneof, property, string, tuple } from 'fast-check'
import { propertyRuns } from '../../testing/property-runs.ts'
import { requestedRange } from './send-file.ts'

const WHOLE = undefined

describe('the range of a ten-byte file', () => {
  for (const [header, expected] of [
    [undefined, WHOLE],
    ['bytes=0-9', { start: 0, end: 9 }],
    ['bytes=0-0', { start: 0, end: 0 }],
    ['bytes=5-5', { start: 5, end: 5 }],
    ['bytes=9-', { start: 9, end: 9 }],
    ['bytes=2-99', { start: 2, end: 9 }],
    ['bytes=-3', { start: 7, end: 9 }],
    ['bytes=-99', { start: 0, end: 9 }],
    ['BYTES=1-2', { start: 1, end: 2 }],
    ['bytes=-0', 'unsatisfiable'],
    ['bytes=10-', 'unsatisfiable'],
    ['bytes=99999999999999999999-', 'unsatisfiable'],
    ['bytes=9-5', WHOLE],
    ['bytes=0-1,3-4', WHOLE],
    [`bytes=${Array.from({ length: 1000 }, (_, at) => `${at}-${at}`).join(',')}`, WHOLE],
    ['bytes=-', WHOLE],
    ['bytes=', WHOLE],
    ['bytes=a-b', WHOLE],
    ['bytes=1.5-2', WHOLE],
    ['items=0-1', WHOLE],
    ['xbytes=0-1', WHOLE],
    ['bytes=0-1x', WHOLE],
    ['0-1', WHOLE],
  ] as const)
    test(`${header?.slice(0, 40)} is ${JSON.stringify(expected) ?? 'the whole'}`, () => {
      assert.deepEqual(requestedRange(header, 10), expected)
    })

  test('an empty file has no range', () => {
    for (const header of ['bytes=0-', 'bytes=0-0', 'bytes=-1'])
      assert.equal(requestedRange(header, 0), 'unsatisfiable')
  })

  test('no header ever asks for bytes outside the file', { tags: ['property'] }, () => {
    const numbers = integer({ min: 0, max: 40 })
    const header = oneof(
      string(),
      tuple(numbers, numbers).map(([first, last]) => `bytes=${first}-${last}`),
      numbers.map((first) => `bytes=${first}-`),
      numbers.map((length) => `bytes=-${length}`),
    )
    check(
      property(header, numbers, (text, sizeBytes) => {
        const range = requestedRange(text, sizeBytes)
        if (range === undefined || range === 'unsatisfiable') return
        assert.ok(range.start >= 0 && range.start <= range.end && range.end < sizeBytes)
      }),
      { numRuns: propertyRuns(1000) },
    )
  })
})
