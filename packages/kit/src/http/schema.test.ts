import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Type } from 'typebox'
import { notFound } from '../problems.ts'
import { faultsOf, oneOf, pathId } from './schema.ts'

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

describe('the message of a fault', () => {
  const sizes = Type.Union([Type.Literal('small'), Type.Literal('large'), Type.Null()])

  for (const [schema, value, message] of [
    [oneOf('small', 'large'), 'huge', 'must be one of small, large'],
    [sizes, 'huge', 'must be one of small, large'],
    [Type.Array(Type.String(), { minItems: 1 }), [], 'must have at least 1 entry'],
    [Type.Array(Type.String(), { maxItems: 1 }), ['a', 'b'], 'must have at most 1 entry'],
  ] as const)
    test(`of ${JSON.stringify(value)} is: ${message}`, () => {
      assert.deepEqual(faultsOf(Type.Object({ size: schema }), { size: value }), [
        `size: ${message}`,
      ])
    })
})
