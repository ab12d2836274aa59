import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TSchema } from 'typebox'
import { listenForTest, testClock } from '../../../../testing/index.ts'
import { createLogger } from '../../../logging.ts'
import { defineProblem } from '../../../problems.ts'
import { callerGuard } from '../../guards.ts'
import { Type } from '../../schema.ts'
import { createServer, type ServerOptions } from '../../server.ts'
import { noContent, replyWith } from '../operations.ts'
import { openApiRoutes } from './serve.ts'

const API = { title: 'Test', version: '1', description: 'A test.', tags: { Things: 'Things.' } }
const thingUnknown = defineProblem('THING_NOT_FOUND', 404, 'There is no such thing.')
const Thing = Type.Object({ name: Type.String({ examples: ['hammer'] }) }, { title: 'Thing' })
const guard = callerGuard(async () => undefined)

describe('/openapi.json', () => {
  test('describes each route by its own schemas, guards and problems', async (t) => {
    const { api } = await start(t)

    const { body, headers } = await api.get('/openapi.json')

    assert.match(headers.get('content-type') ?? '', /^application\/json/)
    assert.equal(body.openapi, '3.1.0')
    assert.deepEqual(Object.keys(body.paths).sort(), ['/openapi.json', '/things', '/things/{id}'])
    const change = body.paths['/things/{id}'].put
    assert.equal(change.operationId, 'changeThing')
    assert.deepEqual(change.security, [{ bearer: [] }])
    assert.deepEqual(change.requestBody.content['application/json'], {
      schema: { $ref: '#/components/schemas/Thing' },
      example: { name: 'hammer' },
    })
    assert.deepEqual(body.components.schemas.Thing, {
      type: 'object',
      required: ['name'],
      properties: { name: { type: 'string', examples: ['hammer'] } },
    })
    assert.deepEqual(codesOf(body, change, 404), ['THING_NOT_FOUND'])
    assert.deepEqual(codesOf(body, change, 401), [
      'AUTHENTICATION_REQUIRED',
      'INVALID_ACCESS_TOKEN',
    ])
    assert.equal(change.responses[204].content, undefined)
  })

  test('lists the problems that every route may answer with', async (t) => {
    const { api } = await start(t)

    const { body } = await api.get('/openapi.json')

    const codes = codesOf(body, body.paths['/things'].get, 400)
    assert.deepEqual(codes, ['MALFORMED_REQUEST', 'AMBIGUOUS_HOST', 'MISSING_HOST'])
  })

  test('leaves optional text without an example out of the examples', async (t) => {
    const text = Type.Optional(Type.String())
    const Body = Type.Object({
      name: Type.String(),
      url: text,
      tags: Type.Optional(Type.Array(Type.String())),
      color: Type.Optional(Type.String({ examples: ['red'] })),
      count: Type.Optional(Type.Integer()),
    })
    const { api } = await start(t, {}, Body as never, Type.Object({ after: text, size: text }))

    const { paths } = (await api.get('/openapi.json')).body

    const { example } = paths['/things/{id}'].put.requestBody.content['application/json']
    assert.deepEqual(example, { name: 'text', color: 'red', count: 1 })
    for (const parameter of paths['/things/{id}'].put.parameters)
      assert.equal('example' in parameter, parameter.in === 'path', parameter.name)
  })

  test('gives an example in the format of the text', async (t) => {
    const formats = ['date', 'date-time', 'uuid', 'uri']
    const members = formats.map((format) => [format, Type.String({ format })])
    const { api } = await start(t, {}, Type.Object(Object.fromEntries(members)) as never)

    const { paths } = (await api.get('/openapi.json')).body

    const { example } = paths['/things/{id}'].put.requestBody.content['application/json']
    for (const format of formats) assert.notEqual(example[format], 'text', format)
  })

  test('is revalidated by its ETag', async (t) => {
    const { api } = await start(t)
    const etag = (await api.get('/openapi.json')).headers.get('etag') ?? ''

    const again = await api.get('/openapi.json', { headers: { 'if-none-match': etag } })
    const other = await api.get('/openapi.json', { headers: { 'if-none-match': '"other"' } })

    for (const listed of [`W/${etag}`, `"other", ${etag}`, '*']) {
      const { status } = await api.get('/openapi.json', { headers: { 'if-none-match': listed } })
      assert.equal(status, 304, listed)
    }
    assert.deepEqual([again.status, again.bytes.length, other.status], [304, 0, 200])
    assert.equal(again.headers.get('cache-control'), 'no-cache')
  })

  test('names the URL by which the client reached it', async (t) => {
    const { api, baseUrl } = await start(t, { trustedProxies: ['loopback'] })
    const headers = { 'x-forwarded-prefix': '/shop' }

    const plain = await api.get('/openapi.json')
    const behind = await api.get('/openapi.json', { headers })

    assert.deepEqual(plain.body.servers, [{ url: baseUrl }])
    assert.deepEqual(behind.body.servers, [{ url: `${baseUrl}/shop` }])
    assert.notEqual(plain.headers.get('etag'), behind.headers.get('etag'))
  })

  test('fails if two different schemas have the same title', async (t) => {
    const { api } = await start(
      t,
      {},
      Type.Object({ other: Type.String() }, { title: 'Thing' }) as never,
    )

    assert.equal((await api.get('/openapi.json')).status, 500)
  })
})

describe('a test fails on a reply that the document does not declare:', () => {
  const faultsOf = async (path: string) => {
    const cleanups: (() => Promise<void> | void)[] = []
    const { api } = await start({ after: (work: () => void) => cleanups.unshift(work) } as never)
    await api.get(path)
    const outcomes = await Promise.allSettled(cleanups.map(async (cleanup) => cleanup()))
    return outcomes.map((outcome) => String((outcome as PromiseRejectedResult).reason)).join()
  }

  test('a status', async () => {
    assert.match(await faultsOf('/things?reply=status'), /GET \/things: 202 is not declared/)
  })

  test('a member', async () => {
    assert.match(await faultsOf('/things?reply=member'), /must NOT have unevaluated properties/)
  })

  test('a value', async () => {
    assert.match(await faultsOf('/things?reply=value'), /body\/0\/name must be string/)
  })

  test('a media type', async () => {
    assert.match(await faultsOf('/things?reply=type'), /200 text\/plain is not declared/)
  })

  test('a problem', async () => {
    assert.match(await faultsOf('/things?reply=problem'), /GET \/things: 404 is not declared/)
  })

  test('but not on a declared reply', async () => {
    assert.equal(await faultsOf('/things'), 'undefined')
  })
})

type Replies = Record<string, { $ref?: string; content?: Record<string, { examples: object }> }>

// biome-ignore lint/suspicious/noExplicitAny: a document is looked into by path
function codesOf(document: any, { responses }: { responses: Replies }, status: number): string[] {
  const { $ref, content } = responses[status] ?? {}
  const found = $ref ? document.components.responses[$ref.split('/').at(-1) ?? ''].content : content
  return Object.keys(found['application/problem+json'].examples)
}

async function start(
  t: TestContext,
  options: Partial<ServerOptions> = {},
  Body = Thing,
  readsQuery?: TSchema,
) {
  const server = createServer({
    log: createLogger('test', 'silent'),
    clock: testClock(),
    ...options,
  })
  const things = { tags: ['Things'], summary: 'Things' }
  const wrong: Record<
    string,
    (reply: { code(status: number): unknown; type(name: string): unknown }) => unknown
  > = {
    member: () => [{ name: 'hammer', weight: 1 }],
    value: () => [{ name: 1 }],
    status: (reply) => reply.code(202) && [],
    type: (reply) => reply.type('text/plain') && 'hammer',
    problem: () => {
      throw thingUnknown()
    },
  }
  server.get<{ Querystring: { reply?: string } }>('/things', {
    schema: {
      ...things,
      operationId: 'things',
      response: { 200: replyWith({ headers: ['ETag'] }, Type.Unsafe<unknown>(Type.Array(Thing))) },
    },
    handler: async ({ query }, reply) => wrong[query.reply ?? '']?.(reply as never) ?? [],
  })
  server.put('/things/:id', {
    onRequest: guard.caller,
    schema: {
      ...things,
      operationId: 'changeThing',
      body: Body,
      readsQuery,
      response: { 204: noContent },
      problems: [thingUnknown],
    },
    handler: async (_request, reply) => reply.code(204).send(),
  })
  openApiRoutes(server, API)
  return listenForTest(t, server)
}
