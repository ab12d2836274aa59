import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { bothEngines, type TestEngine } from '@plinth/kit/testing'
import { keyed, startStorageKey, upload } from './start-storage-key.ts'

type Started = Awaited<ReturnType<typeof start>>

async function start(t: TestContext, engine: TestEngine) {
  const started = await startStorageKey(t, {
    STORAGE_KEY_DATABASE_URL: await engine.freshUrl(t),
  })
  const json = { 'content-type': 'application/json' }
  const post = (path: string, body: object) =>
    started.api.request('POST', path, { headers: json, body: JSON.stringify(body) })
  return { ...started, post }
}

async function newKey({ post, anonymous }: Started, ...scopes: string[]) {
  const { status, body } = await post('/api/service-keys', { name: 'shop', scopes })
  assert.equal(status, 201)
  return {
    id: body.id as number,
    secret: body.secret as string,
    api: keyed(anonymous, body.secret),
  }
}

for (const engine of bothEngines)
  describe(`service keys of the key edition, on ${engine.name}`, engine.options, () => {
    test('a service key works in X-API-KEY beside the configured key', async (t) => {
      const service = await start(t, engine)
      const { api } = await newKey(service, 'files:read', 'files:write')

      const stored = await upload(api)

      assert.equal(stored.status, 200)
      const names = [(await api.get('/file/list')).body, (await service.api.get('/file/list')).body]
      assert.deepEqual(names, [[stored.body], [stored.body]])
      assert.equal((await api.get(`/file/info/${stored.body}`)).status, 200)
      assert.equal((await api.head(`/file/${stored.body}`)).status, 200)
      assert.equal((await api.delete(`/file/${stored.body}`)).body, true)
    })

    test('the database of the keys has metrics', async (t) => {
      const { server } = await start(t, engine)

      const names = (await server.metrics.read()).map(({ name }) => name)

      assert.ok(names.includes('plinth_leases'))
      const store = { sqlite: 'plinth_sqlite_wal_bytes', postgres: 'plinth_db_pool_connections' }
      assert.ok(names.includes(store[engine.name as keyof typeof store]))
    })

    test('reading needs files:read, and uploads and deletions need files:write', async (t) => {
      const service = await start(t, engine)
      const reader = await newKey(service, 'files:read')
      const writer = await newKey(service, 'files:write')
      const stored = await upload(writer.api)

      const refusals = [
        [await upload(reader.api), 'files:write'],
        [await reader.api.delete(`/file/${stored.body}`), 'files:write'],
        [await writer.api.get('/file/list'), 'files:read'],
        [await writer.api.get(`/file/${stored.body}`), 'files:read'],
      ] as const

      for (const [{ status, headers }, scope] of refusals) {
        assert.equal(status, 403)
        const challenge = `Bearer error="insufficient_scope", scope="${scope}"`
        assert.equal(headers.get('www-authenticate'), challenge)
      }
      assert.equal((await reader.api.get('/file/list')).status, 200)
    })

    test('unknown, expired and revoked keys get the same 401 as any wrong key', async (t) => {
      const service = await start(t, engine)
      const revoked = await newKey(service, 'files:read')
      const expired = await newKey(service, 'files:read')
      await service.api.delete(`/api/service-keys/${revoked.id}`)
      const isRevoked = await revoked.api.get('/file/list')
      service.clock.advance(366 * 86_400)
      const unknown = keyed(service.anonymous, `plk_test_${'a'.repeat(49)}`)

      const replies = [
        isRevoked,
        await expired.api.get('/file/list'),
        await unknown.get('/file/list'),
      ]

      for (const { status, body, headers } of replies)
        assert.deepEqual(
          [status, body, headers.get('www-authenticate')],
          [401, 'Unauthorized', 'ApiKey'],
        )
    })

    test('only the configured key manages service keys and reads their audit', async (t) => {
      const service = await start(t, engine)
      const { id, api } = await newKey(service, 'files:read', 'files:write')

      const refused = [
        await api.get('/api/service-keys'),
        await api.get('/api/audit'),
        await service.anonymous.get('/api/service-keys'),
      ]

      assert.deepEqual(
        refused.map(({ status }) => status),
        [401, 401, 401],
      )
      const rotated = await service.post(`/api/service-keys/${id}/rotate`, { overlapSeconds: 60 })
      assert.equal(rotated.status, 201)
      assert.equal((await api.get('/file/list')).status, 200)
      service.clock.advance(61)
      assert.equal((await api.get('/file/list')).status, 401)
      const { body } = await service.api.get('/api/audit?size=2&sort=id,asc')
      const events = body.content.map((each: Record<string, string>) => [each.event, each.actor])
      assert.deepEqual(events, [
        ['SERVICE_KEY_CREATED', 'configured key'],
        ['SERVICE_KEY_ROTATED', 'configured key'],
      ])
      assert.equal(body.totalElements, 3)
      const { body: keys } = await service.api.get('/api/service-keys')
      assert.doesNotMatch(JSON.stringify(keys), /hash|secret|plk_test_\w{10}/)
    })

    test('OPTIONS lists the methods of the paths of service keys', async (t) => {
      const { anonymous } = await start(t, engine)
      const allowed = async (path: string) =>
        (await anonymous.request('OPTIONS', path)).headers.get('allow')

      assert.equal(await allowed('/api/service-keys?page=0'), 'GET, HEAD, POST, OPTIONS')
      assert.equal(await allowed('/api/service-keys/1'), 'DELETE, OPTIONS')
      assert.equal(await allowed('/api/service-keys/1/rotate'), 'POST, OPTIONS')
      assert.equal(await allowed('/api/audit'), 'GET, HEAD, OPTIONS')
    })

    test('an invalid request for a new key is 400 with the error body of this edition', async (t) => {
      const service = await start(t, engine)

      const unknown = await service.post('/api/service-keys', { name: 'x', scopes: ['all'] })
      const broken = await service.api.request('POST', '/api/service-keys', {
        headers: { 'content-type': 'application/json' },
        body: '{',
      })

      assert.deepEqual([unknown.status, broken.status], [400, 400])
      assert.equal(unknown.body.path, '/api/service-keys')
    })
  })

test('without a database there are no service keys, and a key of that form is 401', async (t) => {
  const { api, anonymous } = await startStorageKey(t)

  const key = keyed(anonymous, `plk_test_${'a'.repeat(49)}`)

  assert.equal((await key.get('/file/list')).status, 401)
  assert.equal((await api.get('/api/service-keys')).status, 404)
})
