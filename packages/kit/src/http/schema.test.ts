import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { notFound } from '../problems.ts'
import { pathId } from './schema.ts'

describe('an id from a path', () => {
  test('is a positive safe integer', () => {
    assert.equal(pathId('1'), 1)
    assert.equal(pathId('9007199254740991'), Number.MAX_SAFE_INTEGER)
  })

  for (const text of [
    '',
    '0',
    '-1',
    '01',
    '1.5',
    '1e3',
    ' 1',
    '9007199254740992',
    '99999999999999999',
  ])
    test(`is not ${JSON.stringify(text)}: a validation failure, or the problem that the route chose`, () => {
      assert.throws(() => pathId(text, { name: 'linkId' }), {
        code: 'VALIDATION_ERROR',
        extra: { errors: ['linkId: must be a positive integer'] },
      })
      assert.throws(() => pathId(text, { unknown: notFound }), notFound.is)
    })
})
