import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { oneOf, Type } from './schema.ts'
import { faultsOf } from './validation.ts'

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
