import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { json } from 'node:stream/consumers'
import { test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { TestEngine } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { loadConfig } from '../src/config.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { startIssuer } from './issuer.ts'
import { engines, logIn, startStorage, type TestStorage, upload } from './start-storage.ts'

for (const engine of engines)
  test(
    `with STORAGE_FULL_TRUSTED_ISSUER its users have files of their own, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign } = await startIssuer(t)
      const service = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const { api, clock, user } = service
      const remote = await sign(clock(), {})

      const theirs = await upload(api, remote)
      const ours = await upload(api, user)

      // The local demo user also has the id 2: the two must not be confused.
      assert.deepEqual([theirs.status, theirs.body.owner], [201, 'remote'])
      assert.equal(theirs.body.ownerId, `${issuer}#2`)
      assert.equal(ours.body.ownerId, 2)
      const statusOf = async (id: number, token: string) =>
        (await api.get(`/file/info/${id}`, { token })).status
      assert.equal(await statusOf(theirs.body.id, remote), 200)
      assert.equal(await statusOf(theirs.body.id, user), 403)
      assert.equal(await statusOf(ours.body.id, remote), 403)
      const admin = await sign(clock(), { roles: ['ROLE_ADMIN'] })
      assert.equal((await api.get('/api/storage/status', { token: admin })).status, 200)
      assert.equal((await api.get('/api/users/me', { token: remote })).status, 401)
    },
  )

for (const engine of engines)
  test(
    `an administrator of the issuer administers local accounts without having one, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign } = await startIssuer(t)
      const { api, clock } = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const token = await sign(clock(), { roles: ['ROLE_ADMIN'] })
      const remote = await sign(clock(), {})
      const path = '/api/users/2'

      const { body: users } = await api.get('/api/users', { token })
      // The session of the token also has the id 1.
      const { body: sessions } = await api.get(`${path}/sessions`, { token })
      const change = { enabled: false, reason: 'left' }
      const disabled = await api.patch(path, change, { token })
      const { body: audit } = await api.get('/api/audit?event=USER_DISABLED', { token })

      assert.deepEqual(
        users.content.map(({ username }: { username: string }) => username),
        ['admin', 'user'],
      )
      assert.deepEqual(
        sessions.map(({ current }: { current: boolean }) => current),
        [false],
      )
      assert.deepEqual([disabled.status, disabled.body.enabled], [200, false])
      const [event] = audit.content
      assert.deepEqual([event.actor, event.subject, event.reason], ['remote', 'user', 'left'])
      const last = await api.patch('/api/users/1', { enabled: false }, { token })
      assert.deepEqual([last.status, last.body.code], [409, 'LAST_ADMINISTRATOR'])
      for (const read of ['/api/users', path, `${path}/sessions`, '/api/audit'])
        assert.equal((await api.get(read, { token: remote })).status, 403, read)
      for (const own of ['/api/users/me', '/api/users/me/sessions'])
        assert.equal((await api.get(own, { token })).status, 401, own)
    },
  )

test('an invalid token is 401 with a trusted issuer too, and reaches no file', async (t) => {
  const { issuer, sign } = await startIssuer(t)
  const other = await startIssuer(t)
  const service = await startStorage(t, { STORAGE_FULL_TRUSTED_ISSUER: issuer })
  const { api, clock, user } = service
  const ours = await upload(api, user)
  const bad = {
    'no token at all': 'nonsense',
    'a local one with a changed signature': `${user.slice(0, -5)}AAAAA`,
    'of another issuer': await other.sign(clock(), {}),
    'in its name but signed by another': await other.sign(clock(), {}, { iss: issuer }),
    expired: await sign(new Date(clock().getTime() - 3_600_000), {}),
  }

  for (const [name, token] of Object.entries(bad)) {
    assert.equal((await api.get('/file/list', { token })).status, 401, name)
    assert.equal((await api.get(`/file/info/${ours.body.id}`, { token })).status, 401, name)
    assert.equal((await upload(api, token)).status, 401, name)
  }
  assert.equal((await api.get('/file/list', { token: await sign(clock(), {}) })).status, 200)
})

test('the keys of the trusted issuer may be served at an address other than its name', async (t) => {
  const { issuer, sign } = await startIssuer(t)
  const { api, clock } = await startStorage(t, {
    STORAGE_FULL_TRUSTED_ISSUER: 'https://id.example',
    STORAGE_FULL_TRUSTED_ISSUER_ADDRESS: issuer,
  })

  const named = await upload(api, await sign(clock(), {}, { iss: 'https://id.example' }))

  assert.deepEqual([named.status, named.body.ownerId], [201, 'https://id.example#2'])
  assert.equal((await upload(api, await sign(clock(), {}))).status, 401)
})

test('without a trusted issuer a token of another issuer is refused', async (t) => {
  const { sign } = await startIssuer(t)
  const { api, clock } = await startStorage(t)

  assert.equal((await upload(api, await sign(clock(), {}))).status, 401)
})

for (const alg of ['RS256', 'ES256', 'EdDSA'])
  test(`the trusted issuer may sign with ${alg}, for a list of audiences`, async (t) => {
    const { issuer, sign } = await startIssuer(t, alg)
    const { api, clock } = await startStorage(t, { STORAGE_FULL_TRUSTED_ISSUER: issuer })
    const statusFor = async (form: Parameters<typeof sign>[2]) =>
      (await upload(api, await sign(clock(), {}, form))).status

    assert.equal(await statusFor({}), 201)
    assert.equal(await statusFor({ aud: ['other', 'plinth'], typ: 'application/at+jwt' }), 201)
    assert.equal(await statusFor({ aud: ['other'] }), 401)
    assert.equal(await statusFor({ typ: 'JWT' }), 401)
  })

test('with STORAGE_FULL_TRUSTED_ISSUER_PLAIN_JWT its tokens may have the type JWT', async (t) => {
  const { issuer, sign } = await startIssuer(t)
  const { api, clock } = await startStorage(t, {
    STORAGE_FULL_TRUSTED_ISSUER: issuer,
    STORAGE_FULL_TRUSTED_ISSUER_PLAIN_JWT: 'true',
  })

  assert.equal((await upload(api, await sign(clock(), {}, { typ: 'JWT' }))).status, 201)
})

for (const engine of engines)
  test(
    `an administrator whom the issuer disabled is refused within 10 s, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign, answer } = await startIssuer(t)
      const { api, clock, user } = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const { body: file } = await upload(api, user)
      const token = await sign(clock(), { roles: ['ROLE_ADMIN'] })
      const calls = ['/api/storage/status', `/file/info/${file.id}`, '/api/users', '/api/audit']
      const statuses = async () =>
        Promise.all(calls.map(async (path) => (await api.get(path, { token })).status))

      assert.deepEqual(await statuses(), [200, 200, 200, 200])
      answer.body = { ...answer.body, roles: ['ROLE_USER'] }
      clock.advance(10)
      assert.deepEqual(await statuses(), [403, 403, 403, 403])
      answer.body = { ...answer.body, active: false }
      clock.advance(10)
      assert.deepEqual(await statuses(), [401, 401, 401, 401])
      answer.status = 500
      clock.advance(10)
      assert.deepEqual(await statuses(), [503, 503, 503, 503])
      const refused = await api.get('/api/storage/status')
      assert.match(refused.headers.get('www-authenticate') ?? '', /^Bearer resource_metadata="http/)
    },
  )

for (const engine of engines)
  test(
    `links of an owner whom the issuer disabled are 404 within 10 s, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign, owner } = await startIssuer(t)
      const { api, clock } = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const token = await sign(clock(), {})
      const { body: file } = await upload(api, token)
      const request = { id: file.id, expiresInSeconds: 600 }
      const { body: link } = await api.post('/file/generate-pre-signed-url', request, { token })
      const opened = async () => {
        const { status, body } = await api.get(`/file/presigned/${link.token}`)
        clock.advance(10)
        return [status, body?.code]
      }

      assert.deepEqual(await opened(), [200, undefined])
      owner.body = { enabled: false }
      assert.deepEqual(await opened(), [404, 'LINK_NOT_FOUND'])
      Object.assign(owner, { status: 404, body: { code: 'USER_NOT_FOUND' } })
      assert.deepEqual(await opened(), [404, 'LINK_NOT_FOUND'])
      // A reply that does not say that the user is enabled does not open the link.
      for (const [status, body] of [
        [404, {}],
        [403, { enabled: true }],
        [500, {}],
        [200, { enabled: 'yes' }],
      ] as const) {
        Object.assign(owner, { status, body })
        assert.deepEqual(await opened(), [503, 'ISSUER_UNAVAILABLE'])
      }
    },
  )

for (const engine of engines)
  test(
    `the files and the name of a user whom the issuer has erased are erased, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign, answer, deleted } = await startIssuer(t)
      const first = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const { api, clock, admin, user } = first
      /** A new node looks for erased users at once. */
      const startNode = () => startStorage(t, first.env, clock)
      const statusOf = async (id: number) =>
        (await api.get(`/file/info/${id}`, { token: await logIn(api, 'admin') })).status
      const texts = async () => {
        const token = await logIn(api, 'admin')
        const paths = ['/api/audit', '/api/service-keys', '/api/webhooks/endpoints']
        const replies = await Promise.all(paths.map((path) => api.get(path, { token })))
        return replies.map(({ body }) => JSON.stringify(body))
      }
      const token = await sign(clock(), {})
      const boss = await sign(clock(), { roles: ['ROLE_ADMIN'] })
      const ours = await upload(api, user)
      const removed = await upload(api, user)
      const theirs = [await upload(api, token), await upload(api, token), await upload(api, token)]
      const ids = theirs.map(({ body }) => body.id as number)
      // The name appears in the audit, and on what the administrator created.
      assert.equal((await api.delete(`/file/${removed.body.id}`, { token: boss })).status, 204)
      assert.equal((await api.delete(`/file/${ids.pop()}`, { token: admin })).status, 204)
      const restorable = await upload(api, token, { folder: '/private/diary' })
      await api.delete(`/file/${restorable.body.id}?restorable=true`, { token })
      const deletedFiles = async () =>
        (await api.get('/file/deleted', { token: await logIn(api, 'admin') })).body.totalElements
      assert.equal(await deletedFiles(), 1)
      const key = { name: 'shop', scopes: ['files:read'] }
      const { body: made } = await api.post('/api/service-keys', key, { token: boss })
      const keyWorks = async () => (await api.get('/file/list', { token: made.secret })).status
      assert.equal(await keyWorks(), 200)
      const endpoint = { url: 'http://localhost:9/' }
      assert.equal(
        (await api.post('/api/webhooks/endpoints', endpoint, { token: boss })).status,
        201,
      )
      for (const text of await texts()) assert.match(text, /remote/)
      // Under a name that the audit uses for others than users, nothing is changed.
      const username = 'command line'
      const operator = await sign(clock(), { username, roles: ['ROLE_ADMIN'] })
      answer.body.username = username
      await api.post('/api/webhooks/endpoints', endpoint, { token: operator })

      const at = clock().toISOString()
      deleted.users.push({ id: 1, deletedAt: at }, { id: 2, deletedAt: at })
      await startNode()
      for (const id of ids)
        await until(
          () => statusOf(id),
          (status) => status === 404,
        )
      assert.equal(await statusOf(ours.body.id), 200)
      await until(deletedFiles, (count) => count === 0)
      await until(
        async () => (await api.get('/file/folders', { token })).body.folders,
        ({ length }) => length === 0,
      )

      // A token of the user may stay valid for a quarter of an hour; what is uploaded with it is erased too.
      const late = await upload(api, token)
      clock.advance(1_001)
      const isDone = () => deleted.after.at(-1) === '2'
      deleted.after.length = 0
      await startNode()
      await until(isDone, (done) => done)
      assert.deepEqual([late.status, await statusOf(late.body.id)], [201, 404])
      assert.equal(await keyWorks(), 401)
      for (const text of await texts()) {
        assert.doesNotMatch(text, /remote/)
        assert.ok(text.includes(`${issuer}#2`))
      }
      const [audit, , endpoints] = await texts()
      for (const text of [audit, endpoints]) assert.match(text ?? '', /"command line"/)

      deleted.after.length = 0
      await startNode()
      await until(isDone, (done) => done)
      assert.deepEqual(deleted.after, ['2'])
    },
  )

for (const engine of engines)
  test(
    `an upload that ends after its owner was disabled or erased is not stored, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign, owner } = await startIssuer(t)
      const service = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const { api, clock, root } = service
      /** Changes something after the first megabyte of an upload, and sends the rest when a minute has passed. */
      const uploadSlowly = async (token: string, change: () => Promise<unknown> | unknown) => {
        const slow = await beginUpload(service, token)
        await change()
        clock.advance(60)
        return slow.finish()
      }
      const disable = async () => {
        const token = await logIn(api, 'admin')
        assert.equal((await api.patch('/api/users/2', { enabled: false }, { token })).status, 200)
      }
      const erase = () => Object.assign(owner, { status: 404, body: { code: 'USER_NOT_FOUND' } })
      const remote = () => sign(clock(), {})

      const stored = await uploadSlowly(await remote(), () => {})
      clock.advance(60)
      const replies = [
        await uploadSlowly(await remote(), erase),
        await uploadSlowly(await logIn(api, 'user'), disable),
      ]

      assert.equal(stored.status, 201)
      for (const { status, body } of replies)
        assert.deepEqual([status, body.code], [401, 'INVALID_ACCESS_TOKEN'])
      const files = await api.get('/file/list', { token: await logIn(api, 'admin') })
      assert.deepEqual(
        files.body.map(({ id }: { id: number }) => id),
        [stored.body.id],
      )
      const objects = (await readdir(root, { recursive: true })).filter((name) =>
        /[.]txt$/.test(name),
      )
      assert.equal(objects.length, 1)
    },
  )

for (const engine of engines)
  test(
    `one user of the issuer who cannot be erased does not delay the others, on ${engine.name}`,
    engine.options,
    async (t) => {
      const { issuer, sign, deleted } = await startIssuer(t)
      const first = await startStorage(t, {
        STORAGE_FULL_TRUSTED_ISSUER: issuer,
        STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
        STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t),
      })
      const { api, clock, env } = first
      const { body: file } = await upload(api, await sign(clock(), {}))
      const { db, close } = await openDatabase<StorageTables>(
        env.STORAGE_FULL_DATABASE_URL as string,
        storageMigrations,
      )
      t.after(close)
      const user = { issuer, user_id: '1', username: 'stuck' }
      await db.insertInto('issuer_users').values(user).execute()
      await sql`create table others (issuer text, user_id text, username text,
      foreign key (issuer, user_id, username) references issuer_users)`.execute(db)
      await sql`insert into others select * from issuer_users where username = 'stuck'`.execute(db)
      const deletedAt = clock().toISOString()
      deleted.users.push({ id: 1, deletedAt }, { id: 2, deletedAt })
      clock.advance(1_001)

      await startStorage(t, env, clock)

      const names = async () =>
        (await db.selectFrom('issuer_users').select('username').execute()).map(
          (row) => row.username,
        )
      await until(names, (left) => !left.includes('remote'))
      assert.deepEqual(await names(), ['stuck'])
      const token = await logIn(api, 'admin')
      assert.equal((await api.get(`/file/info/${file.id}`, { token })).status, 404)
      const cursors = await db.selectFrom('issuer_cursors').selectAll().execute()
      assert.deepEqual(cursors, [])
    },
  )

test('a link that is revoked while the issuer is being asked does not open', async (t) => {
  const { issuer, sign, owner } = await startIssuer(t)
  const { api, clock } = await startStorage(t, {
    STORAGE_FULL_TRUSTED_ISSUER: issuer,
    STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_test_x',
  })
  const token = await sign(clock(), {})
  const { body: file } = await upload(api, token)
  const request = { id: file.id, expiresInSeconds: 600 }
  const { body: link } = await api.post('/file/generate-pre-signed-url', request, { token })
  const [{ id }] = (await api.get(`/file/${file.id}/links`, { token })).body
  owner.asked = async () => {
    assert.equal((await api.delete(`/file/${file.id}/links/${id}`, { token })).status, 204)
  }

  const opened = await api.get(`/file/presigned/${link.token}`)

  assert.deepEqual([opened.status, opened.body.code], [404, 'LINK_NOT_FOUND'])
})

test('links open without a key, and are 404 when their issuer is no longer trusted', async (t) => {
  const { issuer, sign } = await startIssuer(t)
  const env = {
    STORAGE_FULL_DATABASE_URL: await (engines[0] as TestEngine).freshUrl(t),
    STORAGE_FULL_MASTER_KEY: randomBytes(32).toString('base64'),
  }
  const before = await startStorage(t, { ...env, STORAGE_FULL_TRUSTED_ISSUER: issuer })
  const token = await sign(before.clock(), {})
  const { body: file } = await upload(before.api, token)
  const request = { id: file.id, expiresInSeconds: 600 }
  const { body: link } = await before.api.post('/file/generate-pre-signed-url', request, { token })
  const path = `/file/presigned/${link.token}`

  const { api } = await startStorage(t, env)

  assert.equal((await before.api.get(path)).status, 200)
  assert.equal((await api.get(path)).status, 404)
})

test('in production a trusted issuer requires a key for introspection', () => {
  const env = {
    NODE_ENV: 'production',
    STORAGE_FULL_MASTER_KEY: randomBytes(32).toString('base64'),
    STORAGE_FULL_TRUSTED_ISSUER: 'https://id.example',
  }

  assert.throws(() => loadConfig(env), /STORAGE_FULL_TRUSTED_ISSUER_KEY.+\n.+tokens:introspect/)
  loadConfig({ ...env, STORAGE_FULL_TRUSTED_ISSUER_KEY: 'plk_live_x' })
})

/** Sends an upload except for its end, and returns when the service has begun to write what it has received. */
async function beginUpload({ baseUrl, config }: TestStorage, token: string) {
  const head = '--b\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n'
  const type = 'content-type: text/plain\r\n\r\n'
  const sending = request(`${baseUrl}/file`, {
    method: 'POST',
    headers: {
      authorization: `Bearer ${token}`,
      'content-type': 'multipart/form-data; boundary=b',
    },
  })
  sending.write(head + type + 'a'.repeat(1_000_000))
  await until(
    () => readdir(config.spoolFolder),
    ({ length }) => length > 0,
  )
  const finish = async () => {
    sending.end('\r\n--b--\r\n')
    const [reply]: IncomingMessage[] = await once(sending, 'response')
    assert(reply)
    return { status: reply.statusCode, body: (await json(reply)) as { id: number; code: string } }
  }
  return { finish }
}
