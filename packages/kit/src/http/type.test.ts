import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { Type as TypeBox } from 'typebox'
import { Type } from './schema.ts'

const SCHEMAS: Record<string, (type: typeof Type) => unknown> = {
  String: (type) => type.String({ maxLength: 3, message: 'short' }),
  Integer: (type) => type.Integer({ minimum: 1 }),
  Number: (type) => type.Number(),
  Boolean: (type) => type.Boolean(),
  Null: (type) => type.Null(),
  Literal: (type) => [type.Literal('Bearer'), type.Literal(1)],
  Array: (type) => type.Array(type.String(), { minItems: 1 }),
  Union: (type) => type.Union([type.String(), type.Null()], { message: 'text or null' }),
  Record: (type) => type.Record(type.String(), type.Integer(), { maxProperties: 3 }),
  Object: (type) => [
    type.Object({}),
    type.Object(
      { name: type.String(), age: type.Optional(type.Integer({ minimum: 0 })) },
      { additionalProperties: false },
    ),
    type.Object({ only: type.Optional(type.Union([type.String(), type.Null()])) }),
  ],
  Optional: (type) => type.Optional(type.String({ pattern: 'a' })),
  Unsafe: (type) => type.Unsafe<string>(type.Object({})),
}

describe('our schema builder makes the same schema as TypeBox:', () => {
  for (const name of Object.keys(Type))
    test(name, () => {
      const make = SCHEMAS[name]
      assert.ok(make)

      const [ours, theirs] = [make(Type), make(TypeBox)].map((made) => JSON.stringify(made))

      assert.equal(ours, theirs)
    })
})
