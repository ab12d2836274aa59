import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { createServer, guarding } from '@plinth/kit/http'
import { createLogger } from '@plinth/kit/logging'
import {
  type Api,
  engines,
  listenForTest,
  sqlite,
  type TestEngine,
  testClock,
} from '@plinth/kit/testing'
import { sql } from 'kysely'
import { addChosenKey } from './chosen-key.ts'
import { noticeExpiringKeys } from './expiring-keys.ts'
import { serviceKeyGuard } from './key-guard.ts'
import { isKeyText, newKeyText } from './key-text.ts'
import { type ServiceKeyTables, serviceKeyMigrations } from './service-keys.repository.ts'
import { serviceKeyRoutes } from './service-keys.routes.ts'
import { type KeyEvent, openServiceKeys } from './service-keys.ts'

const SCOPES = ['payments:read', 'payments:write', 'keys:write']
const DAY = 86_400

describe('the text of a service key', () => {
  test('has a prefix for its mode, 43 random digits and a checksum of 6', () => {
    assert.match(newKeyText('live'), /^plk_live_[0-9A-Za-z]{49}$/)
    assert.match(newKeyText('test'), /^plk_test_[0-9A-Za-z]{49}$/)
    assert.notEqual(newKeyText('live'), newKeyText('live'))
  })

  test('with one character changed is refused by its checksum', () => {
    const key = newKeyText('live')

    assert.ok(isKeyText(key))
    for (let place = 9; place < key.length; place++) {
      const other = key[place] === 'a' ? 'b' : 'a'
      assert.ok(!isKeyText(key.slice(0, place) + other + key.slice(place + 1)), String(place))
    }
    for (const text of ['', 'plk_live_', `${key}0`, key.slice(0, -1), key.replace('live', 'test')])
      assert.ok(!isKeyText(text), text)
  })
})

for (const engine of engines)
  describe(`service keys on ${engine.name}`, engine.options, () => {
    test('a key is shown once, stored as a hash, and grants its scope', async (t) => {
      const { api, db } = await start(t, engine)

      const made = await api.post('/api/service-keys', { name: ' shop ', scopes: [SCOPES[0]] })

      assert.equal(made.status, 201)
      assert.ok(isKeyText(made.body.secret))
      assert.equal(made.body.name, 'shop')
      assert.equal(made.body.start, made.body.secret.slice(0, 12))
      const { body: list } = await api.get('/api/service-keys')
      assert.equal(list.length, 1)
      assert.equal('secret' in list[0], false)
      const rows = JSON.stringify(await db.selectFrom('service_keys').selectAll().execute())
      assert.equal(rows.includes(made.body.secret), false)
      const used = await api.request('GET', '/read', { token: made.body.secret })
      assert.deepEqual([used.status, used.body.username], [200, 'shop'])
    })

    test('a key from the settings is added once, and stays revoked', async (t) => {
      const { api, keys } = await start(t, engine)
      const secret = newKeyText('test')
      const add = () => addChosenKey(keys, secret, 'payments:read')
      const statusNow = async () => (await api.request('GET', '/read', { token: secret })).status

      await Promise.all([add(), add()])
      assert.equal(await statusNow(), 200)
      const { body: list } = await api.get('/api/service-keys')
      assert.equal(list.length, 1)
      await api.delete(`/api/service-keys/${list[0].id}`)
      await add()

      assert.equal(await statusNow(), 401)
    })

    test('a missing scope is 403 and named in WWW-Authenticate', async (t) => {
      const { api } = await start(t, engine)
      const { secret } = await createKey(api, { scopes: ['payments:read'] })

      const reply = await api.request('GET', '/write', { token: secret })

      assert.deepEqual([reply.status, reply.body.code], [403, 'INSUFFICIENT_SCOPE'])
      assert.equal(
        reply.headers.get('www-authenticate'),
        'Bearer error="insufficient_scope", scope="payments:write"',
      )
    })

    test('no key, a bad, an expired and a revoked key are 401, the last three with one code', async (t) => {
      const { api, clock } = await start(t, engine)
      const revoked = await createKey(api)
      const expired = await createKey(api, { lifetimeDays: 1 })
      await api.delete(`/api/service-keys/${revoked.id}`)
      clock.advance(DAY)

      const replies = []
      for (const token of [revoked.secret, expired.secret, newKeyText('live'), 'plk_live_x'])
        replies.push(await api.request('GET', '/read', { token }))

      assert.equal((await api.get('/read')).status, 401)
      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [401, 'INVALID_SERVICE_KEY'])
    })

    test('rotation: the old key works through the overlap and not a second longer', async (t) => {
      const { api, clock } = await start(t, engine)
      const old = await createKey(api)

      const made = await api.post(`/api/service-keys/${old.id}/rotate`, { overlapSeconds: 60 })

      assert.equal(made.status, 201)
      assert.deepEqual([made.body.replacesId, made.body.scopes], [old.id, old.scopes])
      const status = async (token: string) => (await api.request('GET', '/read', { token })).status
      clock.advance(59)
      assert.deepEqual([await status(old.secret), await status(made.body.secret)], [200, 200])
      clock.advance(1)
      assert.deepEqual([await status(old.secret), await status(made.body.secret)], [401, 200])
    })

    test('a key that was revoked or has expired cannot be rotated', async (t) => {
      const { api, clock, events } = await start(t, engine)
      const revoked = await createKey(api)
      const expired = await createKey(api, { lifetimeDays: 1 })
      await api.delete(`/api/service-keys/${revoked.id}`)
      clock.advance(DAY)

      const replies = []
      for (const { id } of [revoked, expired])
        replies.push(await api.post(`/api/service-keys/${id}/rotate`, {}))

      for (const { status, body } of replies)
        assert.deepEqual([status, body.code, body.secret], [409, 'SERVICE_KEY_ENDED', undefined])
      assert.deepEqual(
        events.filter(({ event }) => event === 'SERVICE_KEY_ROTATED'),
        [],
      )
    })

    test('a key without a successor gets one notice 30 and one 7 days before it expires', async (t) => {
      const { api, clock, keys, events } = await start(t, engine)
      const [year, ended] = [await createKey(api), await createKey(api)]
      const short = await createKey(api, { lifetimeDays: 340 })
      const fortnight = await createKey(api, { lifetimeDays: 14 })
      const successor = await api.post(`/api/service-keys/${ended.id}/rotate`, {})
      let warnings = 0
      const log = { warn: () => void warnings++ }
      const noticesOn = async (day: number) => {
        clock.set(new Date(new Date(year.createdAt).getTime() + day * DAY * 1000))
        events.length = 0
        await Promise.all([noticeExpiringKeys(keys, log), noticeExpiringKeys(keys, log)])
        return events.map(({ event, keyId }) => [event, keyId])
      }
      const expiring = (...ids: number[]) => ids.map((id) => ['SERVICE_KEY_EXPIRING', id])

      assert.deepEqual(await noticesOn(6), [])
      assert.deepEqual(await noticesOn(8), expiring(fortnight.id))
      assert.deepEqual(await noticesOn(320), expiring(short.id))
      assert.deepEqual(await noticesOn(335), expiring(successor.body.id, short.id, year.id))
      assert.deepEqual(await noticesOn(336), [])
      assert.equal(warnings, 5, 'each of them is also logged once')
    })

    test('of ten concurrent rotations one wins and the others are 409', async (t) => {
      const { api } = await start(t, engine)
      const { id } = await createKey(api)

      const replies = await Promise.all(
        Array.from({ length: 10 }, () => api.post(`/api/service-keys/${id}/rotate`, {})),
      )

      const statuses = replies.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array(9).fill(409)])
      assert.equal((await api.get('/api/service-keys')).body.length, 2)
    })

    test('an unknown scope, no scope, a blank name and a bad network are 400', async (t) => {
      const { api } = await start(t, engine)
      const good = { name: 'shop', scopes: SCOPES }

      for (const fault of [
        { scopes: ['everything'] },
        { scopes: [] },
        { name: '  ' },
        { name: 'a\u0000b' },
        { allowedCidrs: ['10.0.0.0/'] },
        { allowedCidrs: ['10.0.0.0/33'] },
        { allowedCidrs: ['example.com'] },
        { lifetimeDays: 0 },
      ]) {
        const reply = await api.post('/api/service-keys', { ...good, ...fault })
        assert.equal(reply.status, 400, JSON.stringify(fault))
      }
      assert.deepEqual((await api.get('/api/service-keys')).body, [])
    })

    test('an unknown member is 400: a misspelt end must not make a key that lives for a year', async (t) => {
      const { api } = await start(t, engine)
      const key = { name: 'shop', scopes: [SCOPES[0]] }
      const { body: made } = await api.post('/api/service-keys', key)

      const created = await api.post('/api/service-keys', { ...key, expiresAt: '2030-01-02' })
      const rotated = await api.post(`/api/service-keys/${made.id}/rotate`, { overlap: 60 })

      const unknown = 'is not a member of this body, which has'
      assert.deepEqual(
        [created.status, created.body.errors],
        [400, [`expiresAt: ${unknown} name, scopes, allowedCidrs, lifetimeDays`]],
      )
      assert.deepEqual(
        [rotated.status, rotated.body.errors],
        [400, [`overlap: ${unknown} overlapSeconds`]],
      )
      assert.equal((await api.get('/api/service-keys')).body.length, 1)
    })

    test('a key limited to networks is refused from elsewhere', async (t) => {
      const { api } = await start(t, engine)
      const near = await createKey(api, { allowedCidrs: ['127.0.0.0/8', '::1'] })
      const far = await createKey(api, { allowedCidrs: ['203.0.113.0/24'] })

      assert.equal((await api.request('GET', '/read', { token: near.secret })).status, 200)
      assert.equal((await api.request('GET', '/read', { token: far.secret })).status, 401)
    })

    test('a request with an Origin is 403 unless the origin is allowed', async (t) => {
      const { api } = await start(t, engine)
      const { secret: token } = await createKey(api)
      const from = (origin: string) => api.request('GET', '/read', { token, headers: { origin } })

      assert.equal((await from('https://evil.example')).body.code, 'KEY_IN_BROWSER')
      assert.equal((await from('https://shop.example')).status, 200)
      assert.equal((await from(new URL(api.baseUrl).origin)).status, 200)
    })

    test('after 30 failures in a minute an address gets 429 before any look-up', async (t) => {
      const { api, clock } = await start(t, engine)
      const { secret } = await createKey(api)
      const bad = newKeyText('live')
      for (let count = 0; count < 30; count++)
        assert.equal((await api.request('GET', '/read', { token: bad })).status, 401)

      const reply = await api.request('GET', '/read', { token: secret })

      assert.deepEqual([reply.status, reply.headers.get('retry-after')], [429, '60'])
      clock.advance(60)
      assert.equal((await api.request('GET', '/read', { token: secret })).status, 200)
    })

    test('the addresses of one /64 share those failures', async (t) => {
      const { api } = await start(t, engine)
      const statusFrom = async (address: string) => {
        const headers = { 'x-forwarded-for': address }
        return (await api.request('GET', '/read', { token: newKeyText('live'), headers })).status
      }
      for (let n = 0; n < 30; n++) assert.equal(await statusFrom(`2001:db8:1:1::${n}`), 401)

      assert.equal(await statusFrom('2001:db8:1:1::ffff'), 429)
      assert.equal(await statusFrom('2001:db8:1:2::1'), 401)
    })

    test('of 100 concurrent bad keys 30 are looked up, of 100 good ones all', async (t) => {
      const { api, clock } = await start(t, engine)
      const { secret } = await createKey(api)
      const statuses = async (token: string) => {
        const tries = Array.from({ length: 100 }, () => api.request('GET', '/read', { token }))
        const counts: Record<number, number> = {}
        for (const { status } of await Promise.all(tries))
          counts[status] = (counts[status] ?? 0) + 1
        return counts
      }

      assert.deepEqual(await statuses(secret), { 200: 100 })
      assert.deepEqual(await statuses(newKeyText('live')), { 401: 30, 429: 70 })
      assert.deepEqual(await statuses(secret), { 429: 100 })
      clock.advance(60)
      assert.deepEqual(await statuses(secret), { 200: 100 })
    })

    test('a key with keys:write manages others, but makes none with more rights than its own', async (t) => {
      const { api, events } = await start(t, engine)
      const maker = await createKey(api, { scopes: ['keys:write', 'payments:read'] })
      const wide = await createKey(api, { scopes: ['payments:write'] })
      const token = maker.secret
      const make = (...scopes: string[]) =>
        api.post('/api/service-keys', { name: 'till', scopes }, { token })
      const rotate = (id: number) => api.post(`/api/service-keys/${id}/rotate`, {}, { token })

      const made = await make('payments:read')
      const refused = [await make('payments:read', 'payments:write'), await rotate(wide.id)]
      const rotated = await rotate(made.body.id)
      const ended = await api.delete(`/api/service-keys/${wide.id}`, { token })
      const byItself = await api.get('/api/service-keys', { token: made.body.secret })

      assert.deepEqual([made.status, rotated.status, ended.status], [201, 201, 204])
      for (const { status, body, headers } of [...refused, byItself])
        assert.deepEqual(
          [status, body.code, /scope="(.*)"/.exec(headers.get('www-authenticate') ?? '')?.[1]],
          [403, 'INSUFFICIENT_SCOPE', body === byItself.body ? 'keys:write' : 'payments:write'],
        )
      const actor = `key ${maker.id} (shop)`
      assert.equal(made.body.createdBy, actor)
      assert.deepEqual(
        events.slice(2).map(({ event, actor }) => [event, actor]),
        ['CREATED', 'ROTATED', 'REVOKED'].map((what) => [`SERVICE_KEY_${what}`, actor]),
      )
    })

    test('a key limited to networks makes only keys limited to them', async (t) => {
      const { api } = await start(t, engine)
      const allowedCidrs = ['127.0.0.0/8', '::1', '2001:db8::/32', '::ffff:198.51.0.0/112']
      const { secret: token } = await createKey(api, { scopes: ['keys:write'], allowedCidrs })
      const free = await createKey(api, { scopes: ['keys:write'] })
      const make = (networks: object) =>
        api.post('/api/service-keys', { name: 'x', scopes: ['keys:write'], ...networks }, { token })

      const [same, fewer] = [await make({}), await make({ allowedCidrs: ['::1'] })]
      const other = await make({ allowedCidrs: ['::1', '203.0.113.0/24'] })
      const rotated = await api.post(`/api/service-keys/${free.id}/rotate`, {}, { token })

      assert.deepEqual(same.body.allowedCidrs, allowedCidrs)
      assert.deepEqual(fewer.body.allowedCidrs, ['::1'])
      assert.deepEqual([other.status, rotated.status], [400, 400])
      for (const network of NO_WIDER) {
        const made = await make({ allowedCidrs: [network] })
        assert.deepEqual([made.status, made.body.allowedCidrs], [201, [network]], network)
      }
      for (const network of WIDER)
        assert.equal((await make({ allowedCidrs: [network] })).status, 400, network)
    })

    test('the last use is written at most once a minute', async (t) => {
      const { api, clock } = await start(t, engine)
      const { secret: token } = await createKey(api)
      const lastUse = async () => (await api.get('/api/service-keys')).body[0].lastUsedAt
      const start_ = clock().toISOString()

      await api.request('GET', '/read', { token })
      clock.advance(59)
      await api.request('GET', '/read', { token })
      assert.equal(await lastUse(), start_)
      clock.advance(1)
      await api.request('GET', '/read', { token })
      assert.equal(await lastUse(), clock().toISOString())
    })

    test('creation, rotation and the first revocation are recorded, with the actor', async (t) => {
      const { api, events } = await start(t, engine)
      const { id } = await createKey(api)
      const { body: successor } = await api.post(`/api/service-keys/${id}/rotate`)
      await Promise.all(Array.from({ length: 5 }, () => api.delete(`/api/service-keys/${id}`)))

      assert.deepEqual(
        events.map(({ event, actor, subject }) => [event, actor, subject]),
        [
          ['SERVICE_KEY_CREATED', 'admin', `key ${id} (shop)`],
          ['SERVICE_KEY_ROTATED', 'admin', `key ${successor.id} (shop)`],
          ['SERVICE_KEY_REVOKED', 'admin', `key ${id} (shop)`],
        ],
      )
    })

    test('a refused key is recorded once a minute; one that never existed is not', async (t) => {
      const { api, clock, events } = await start(t, engine)
      const { id, secret } = await createKey(api)
      await api.delete(`/api/service-keys/${id}`)
      const refusals = () => events.filter(({ event }) => event === 'SERVICE_KEY_REFUSED')

      for (const token of [secret, secret, newKeyText('live')])
        await api.request('GET', '/read', { token })
      assert.deepEqual(
        refusals().map(({ actor, subject }) => [actor, subject]),
        [[null, `key ${id} (shop)`]],
      )
      clock.advance(60)
      await api.request('GET', '/read', { token: secret })
      assert.equal(refusals().length, 2)
    })

    test('a key that is revoked on one node is refused on the other at once', async (t) => {
      const { api, clock, url } = await start(t, engine)
      const other = await start(t, engine, { clock, url })
      const { id, secret: token } = await createKey(api)
      const status = async () => (await other.api.request('GET', '/read', { token })).status

      assert.equal(await status(), 200)
      await api.delete(`/api/service-keys/${id}`)
      assert.equal(await status(), 401)
    })

    test('a rotated key authenticates the same caller', async (t) => {
      const { api } = await start(t, engine)
      const first = await createKey(api)
      const { body: second } = await api.post(`/api/service-keys/${first.id}/rotate`)
      const { body: third } = await api.post(`/api/service-keys/${second.id}/rotate`)

      const callers = []
      for (const { secret: token } of [first, second, third])
        callers.push((await api.request('GET', '/read', { token })).body.userId)

      assert.deepEqual(callers, Array(3).fill(`key-${first.id}`))
    })

    test('an overlap of more than a week is 400', async (t) => {
      const { api } = await start(t, engine)
      const { id } = await createKey(api)

      const rotate = (overlapSeconds: number) =>
        api.post(`/api/service-keys/${id}/rotate`, { overlapSeconds })

      assert.equal((await rotate(7 * DAY + 1)).status, 400)
      assert.equal((await rotate(7 * DAY)).status, 201)
    })

    test('an unknown id is 404', async (t) => {
      const { api } = await start(t, engine)

      assert.equal((await api.delete('/api/service-keys/99')).status, 404)
      assert.equal((await api.delete('/api/service-keys/x')).status, 404)
      assert.equal((await api.post('/api/service-keys/99/rotate', {})).status, 404)
    })
  })

test('a use that cannot be recorded is logged, and the key works', async (t) => {
  const { api, db, logged } = await start(t, sqlite)
  const { secret: token } = await createKey(api)
  await sql`create trigger refused before update on service_keys
    begin select raise(abort, 'refused'); end`.execute(db)

  const { status } = await api.request('GET', '/read', { token })

  assert.equal(status, 200)
  assert.deepEqual(
    logged().map(({ msg, err }) => [msg, err.message]),
    [['the use of a service key could not be recorded', 'refused']],
  )
})

type Node = { clock: ReturnType<typeof testClock>; url: string }

async function start(t: TestContext, engine: TestEngine, node?: Node) {
  const clock = node?.clock ?? testClock()
  const lines: string[] = []
  const log = createLogger('test', 'error', { write: (line: string) => lines.push(line) })
  const url = node?.url ?? (await engine.freshUrl(t))
  const { db, close } = await openDatabase<ServiceKeyTables>(url, serviceKeyMigrations)
  const server = createServer({ log, clock, trustedProxies: ['loopback'] })
  server.onClose(close)
  const events: KeyEvent[] = []
  const record = async (_db: unknown, event: KeyEvent) => void events.push(event)
  const keys = openServiceKeys(db, { clock, production: true, scopes: SCOPES, record })
  const guard = serviceKeyGuard(keys, { allowedOrigins: ['https://shop.example'] })
  const admin = guarding({ schemes: {}, problems: [] }, async (request) => {
    request.caller = { userId: '1', username: 'admin', roles: [], sessionId: '' }
  })
  serviceKeyRoutes(server, keys, guard.or('keys:write', admin))
  const caller = ({ caller }: { caller: object }) => caller
  server.get('/read', { onRequest: guard.scope('payments:read'), handler: caller })
  server.get('/write', { onRequest: guard.scope('payments:write'), handler: caller })
  const { api } = await listenForTest(t, server)
  const logged = () => lines.map((line) => JSON.parse(line))
  return { api, clock, db, keys, events, url, logged }
}

async function createKey(api: Api, request: object = {}) {
  const { status, body } = await api.post('/api/service-keys', {
    name: 'shop',
    scopes: ['payments:read'],
    ...request,
  })
  assert.equal(status, 201, JSON.stringify(body))
  return body
}

/** Compared with 127.0.0.0/8, ::1, 2001:db8::/32 and ::ffff:198.51.0.0/112. */
const NO_WIDER = [
  '127.1.0.0/16',
  '127.0.0.1',
  '::ffff:127.0.0.0/104',
  '::ffff:7f00:1',
  '::1/128',
  '2001:DB8:0:1::/64',
  '198.51.100.0/24',
]
const WIDER = [
  '126.0.0.0/7',
  '127.0.0.0/0',
  '128.0.0.0/8',
  '::ffff:127.0.0.0/103',
  '::ffff:127.0.0.0/8',
  '::/0',
  '::2',
  '::7f00:1',
  '2001:db8::/31',
  '2001:db9::/32',
  '198.51.0.0/15',
]
