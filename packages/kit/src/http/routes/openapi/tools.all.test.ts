import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { createConfig, lintFromString } from '@redocly/openapi-core'
import { Ajv2020 } from 'ajv/dist/2020.js'
import openapiTypescript, { astToString } from 'openapi-typescript'
import type { Json } from './schemas.ts'

const FOLDER = join(import.meta.dirname, '../../../../../../docs/openapi')
const documents = readdirSync(FOLDER).map((file) => join(FOLDER, file))

/** Linter findings that are intended: the rule and where it applies. */
const INTENDED: [rule: string, place: RegExp][] = [
  // The specification itself has both `/file/list` and `/file/{filename}`.
  ['no-ambiguous-paths', /^#\/paths\/~1file~1/],
  // Redirects to pages for browsers.
  [
    'operation-2xx-response',
    /^#\/paths\/~1(api-test|reference|account|oauth2~1(authorize|logout))\//,
  ],
  // The documents are those of a service on a developer's machine.
  ['no-server-example.com', /^#\/servers\/0\//],
]

describe('third-party tools accept the API documents', () => {
  for (const path of documents) {
    const source = readFileSync(path, 'utf8')
    const name = path.slice(FOLDER.length + 1)

    test(`Redocly finds no problems in ${name}`, async () => {
      const config = await createConfig({ extends: ['recommended'] })

      const problems = await lintFromString({ source, absoluteRef: path, config })

      const found = problems.filter(
        ({ ruleId, location }) =>
          !INTENDED.some(
            ([rule, place]) => rule === ruleId && place.test(location[0]?.pointer ?? ''),
          ),
      )
      assert.deepEqual(
        found.map(({ ruleId, message, location }) => [ruleId, message, location[0]?.pointer]),
        [],
      )
    })

    test(`the examples in ${name} are valid`, () => {
      const document = JSON.parse(source)
      const ajv = new Ajv2020({ strict: false, validateFormats: false })
      ajv.addSchema({ $id: 'api', components: { schemas: document.components.schemas } })
      const { examples, invalid } = exampleFaults(document, (schema, value) =>
        ajv.validate(JSON.parse(JSON.stringify(schema).replaceAll('"#/', '"api#/')), value),
      )

      assert.ok(examples > 5)
      assert.deepEqual(invalid, [])
    })

    test(`openapi-typescript generates types from ${name}`, async () => {
      const types = astToString(await openapiTypescript(source))

      const ids = [...source.matchAll(/"operationId": "(\w+)"/g)].map(([, id]) => id)
      assert.ok(ids.length > 5)
      for (const id of ids) assert.match(types, new RegExp(`\\n    ${id}: \\{`))
    })
  }
})

type Valid = (schema: Json, value: unknown) => boolean

/** Checks the examples wherever the document has a schema with examples. */
function exampleFaults(
  part: unknown,
  valid: Valid,
  at = '#',
): { examples: number; invalid: string[] } {
  if (typeof part !== 'object' || part === null) return { examples: 0, invalid: [] }
  const {
    schema,
    example,
    examples = {},
  } = part as { schema?: Json; example?: unknown; examples?: object }
  const named = Object.entries(examples as Record<string, { value: unknown }>)
  const values = [
    ...(example === undefined ? [] : [['example', example] as const]),
    ...named.map(([name, { value }]) => [name, value] as const),
  ]
  const inside = Object.entries(part)
    .filter(([name]) => !/^(schemas?|examples?)$/.test(name))
    .map(([name, inner]) => exampleFaults(inner, valid, `${at}/${name}`))
  const own = schema ? values : []
  return {
    examples: own.length + inside.reduce((sum, { examples }) => sum + examples, 0),
    invalid: [
      ...own.filter(([, value]) => !valid(schema as Json, value)).map(([name]) => `${at} ${name}`),
      ...inside.flatMap(({ invalid }) => invalid),
    ],
  }
}
