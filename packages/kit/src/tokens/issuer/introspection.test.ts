import assert from 'node:assert/strict'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { type TestContext, test } from 'node:test'
import { testClock } from '../../../testing/index.ts'
import { inTrace } from '../../tracing/trace-context.ts'
import { createIntrospection } from './introspection.ts'

const ANNA = { active: true, username: 'anna', roles: ['ROLE_ADMIN'] }

/** An issuer whose answer the test chooses. */
async function startIssuer(t: TestContext) {
  const asked: string[] = []
  const traces: unknown[] = []
  const issuer = { status: 200, body: JSON.stringify(ANNA) }
  const server = createServer(async (request, response) => {
    const { method, url, headers } = request
    traces.push(headers.traceparent)
    asked.push([method, url, headers.authorization, await text(request)].join(' '))
    response.writeHead(issuer.status, { location: '/elsewhere' }).end(issuer.body)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => void server.close())
  const clock = testClock()
  const address = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const introspection = createIntrospection({ issuer: address, key: 'plk_test_x', clock })
  return { asked, traces, issuer, server, clock, introspection, check: introspection.check }
}

test('an answer is cached for ten seconds and no longer', async (t) => {
  const { asked, issuer, clock, check } = await startIssuer(t)

  assert.deepEqual(await check('a.b.c'), { username: 'anna', roles: ['ROLE_ADMIN'] })
  issuer.body = JSON.stringify({ active: false })
  clock.advance(9)
  assert.deepEqual((await check('a.b.c'))?.username, 'anna')
  clock.advance(1)
  assert.equal(await check('a.b.c'), undefined)
  assert.equal(asked.length, 2)
  assert.equal(asked[0], 'POST /oauth2/introspect Bearer plk_test_x token=a.b.c')
})

test('an answer is not kept for longer because the clock is set back', async (t) => {
  const { issuer, clock, check } = await startIssuer(t)

  assert.equal((await check('a.b.c'))?.username, 'anna')
  issuer.body = JSON.stringify({ active: false })
  clock.advance(-3_600)

  assert.equal(await check('a.b.c'), undefined)
})

test('a call to the issuer belongs to the trace of the request that needs it', async (t) => {
  const { traces, check } = await startIssuer(t)
  const trace = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), sampled: true }

  await inTrace(trace, () => check('a.b.c'))
  await check('d.e.f')

  assert.deepEqual(traces, [`00-${trace.traceId}-${trace.spanId}-01`, undefined])
})

test('concurrent requests with the same token share one answer, other tokens do not', async (t) => {
  const { asked, check } = await startIssuer(t)

  await Promise.all(Array.from({ length: 20 }, () => check('one')))
  await check('two')

  assert.equal(asked.length, 2)
})

test('any unclear answer is 503, and the next request asks again', async (t) => {
  const { issuer, check } = await startIssuer(t)

  for (const [status, body] of [
    [500, JSON.stringify(ANNA)],
    [401, JSON.stringify({ error: 'invalid_client' })],
    [302, JSON.stringify(ANNA)],
    [200, 'not JSON'],
    [200, '{}'],
    [200, JSON.stringify({ active: 'yes', username: 'anna', roles: [] })],
    [200, JSON.stringify({ active: true })],
    [200, `"${'x'.repeat(70_000)}"`],
  ] as const) {
    Object.assign(issuer, { status, body })
    await assert.rejects(check('a.b.c'), { code: 'ISSUER_UNAVAILABLE', status: 503 })
  }
  Object.assign(issuer, { status: 200, body: JSON.stringify(ANNA) })
  assert.equal((await check('a.b.c'))?.username, 'anna')
})

test('an issuer that cannot be reached is 503', async (t) => {
  const { server, check } = await startIssuer(t)
  server.close()
  await once(server, 'close')

  await assert.rejects(check('a.b.c'), { code: 'ISSUER_UNAVAILABLE', status: 503 })
})

test('erased users are requested page by page, and any answer other than a list is an error', async (t) => {
  const { asked, issuer, introspection } = await startIssuer(t)
  const items = [{ id: 7, deletedAt: '2030-01-01T00:00:00.000Z' }]
  issuer.body = JSON.stringify({ items, next: 'a b' })

  assert.deepEqual(await introspection.deletedUsers(undefined), {
    items: [{ id: '7', deletedAt: '2030-01-01T00:00:00.000Z' }],
    next: 'a b',
  })
  await introspection.deletedUsers('a b')
  assert.deepEqual(asked, [
    'GET /api/users/deleted Bearer plk_test_x ',
    'GET /api/users/deleted?after=a%20b Bearer plk_test_x ',
  ])
  for (const [status, body] of [
    [500, { items, next: null }],
    [200, { items: 'none', next: null }],
    [200, { items, next: 1 }],
  ] as const) {
    Object.assign(issuer, { status, body: JSON.stringify(body) })
    await assert.rejects(introspection.deletedUsers(undefined), /without a list of erased users/)
  }
})
