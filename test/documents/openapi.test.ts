import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { before, describe, test } from 'node:test'
import { FOLDER, openApiDocuments } from './openapi.ts'

type Operation = {
  operationId?: string
  summary?: string
  tags?: string[]
  security?: object[]
  responses: Record<string, object>
  parameters?: { name?: string; $ref?: string }[]
}
type ApiDocument = {
  tags: { name: string }[]
  paths: Record<string, Record<string, Operation>>
  webhooks?: Record<string, { post: Operation }>
}

describe('docs/openapi', () => {
  let documents: Record<string, string>
  before(async () => {
    documents = await openApiDocuments()
  })

  test('is up to date; `node test/documents/openapi.ts` updates it', () => {
    assert.deepEqual(
      readdirSync(FOLDER).sort(),
      Object.keys(documents)
        .map((name) => `${name}.json`)
        .sort(),
    )
    for (const [name, text] of Object.entries(documents))
      assert.equal(readFileSync(join(FOLDER, `${name}.json`), 'utf8'), text, name)
  })

  test('documents the range headers of downloads and the signature headers of webhooks', () => {
    const all = Object.values(documents).map((text): ApiDocument => JSON.parse(text))
    const gets = all.flatMap(({ paths }) => Object.values(paths).flatMap(({ get }) => get ?? []))
    const downloads = gets.filter(({ responses }) => '206' in responses)
    const webhooks = all.flatMap((one) => Object.values(one.webhooks ?? {}))

    assert.ok(downloads.length > 0 && webhooks.length > 0)
    for (const { parameters = [], operationId } of downloads)
      for (const header of ['Range', 'If-Range'])
        assert.ok(
          parameters.some(({ name }) => name === header),
          `${operationId} ${header}`,
        )
    for (const { post } of webhooks)
      assert.deepEqual(
        post.parameters?.map(({ $ref }) => $ref?.split('/').at(-1)),
        ['webhook-id', 'webhook-timestamp', 'webhook-signature'],
      )
  })

  test('gives every route a unique operationId, a summary, a known tag, security and replies', () => {
    for (const [name, text] of Object.entries(documents)) {
      const { tags, paths }: ApiDocument = JSON.parse(text)
      const known = tags.map((tag) => tag.name)
      const seen = new Set<string>()
      for (const [path, methods] of Object.entries(paths))
        for (const [method, operation] of Object.entries(methods)) {
          const at = `${name}: ${method} ${path}`
          const { operationId = '', summary = '', security, responses } = operation
          assert.match(operationId, /^[a-z][A-Za-z]+$/, at)
          assert.ok(!seen.has(operationId), `${at}: ${operationId} is used twice`)
          seen.add(operationId)
          assert.ok(summary.length > 3 && summary.length < 80, at)
          assert.ok(operation.tags?.length === 1 && known.includes(operation.tags[0] ?? ''), at)
          assert.ok(Array.isArray(security), at)
          assert.ok(
            Object.keys(responses).some((status) => status < '400'),
            at,
          )
        }
    }
  })
})
