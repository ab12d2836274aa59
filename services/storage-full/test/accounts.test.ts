import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdir } from 'node:fs/promises'
import { type IncomingMessage, request } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { createStorageFull } from '../src/app.ts'
import { loadConfig } from '../src/config.ts'
import { DEMO_PASSWORD, engines, startStorage } from './start-storage.ts'

const ALICE = { username: 'alice', email: 'alice@example.com', password: '8letters' }

for (const engine of engines)
  describe(`accounts, on ${engine.name}`, engine.options, () => {
    const start = async (t: TestContext) =>
      startStorage(t, { STORAGE_FULL_DATABASE_URL: await engine.freshUrl(t) })

    test('POST /api/auth/register creates a ROLE_USER account with a password of 8', async (t) => {
      const { api } = await start(t)

      const created = await api.post('/api/auth/register', ALICE)
      const short = await api.post('/api/auth/register', {
        ...ALICE,
        username: 'bob',
        password: '7lettrs',
      })

      assert.equal(created.status, 201)
      assert.deepEqual(created.body.roles, ['ROLE_USER'])
      assert.equal(short.status, 400)
    })

    test('in production prevent the start while a demo account has the known password', async (t) => {
      const { env } = await start(t)
      const production = {
        ...env,
        NODE_ENV: 'production',
        STORAGE_FULL_PASSWORD_MEMORY_KIB: '',
        STORAGE_FULL_PASSWORD_PASSES: '',
      }

      await assert.rejects(createStorageFull(loadConfig(production)), {
        message: /demo accounts .*: admin, user\..*STORAGE_FULL_DEMO_ACCOUNTS=true$/s,
      })
    })

    test('POST /api/auth/login, refresh and GET /api/users/me', async (t) => {
      const { api } = await start(t)
      await api.post('/api/auth/register', ALICE)
      const { username, password } = ALICE

      const login = await api.post('/api/auth/login', { username, password })
      const { refreshToken } = login.body
      const refreshed = await api.post('/api/auth/refresh', { refreshToken })
      const replayed = await api.post('/api/auth/refresh', { refreshToken })
      const me = await api.get('/api/users/me', { token: refreshed.body.accessToken })

      assert.deepEqual([login.status, refreshed.status, replayed.status], [200, 200, 401])
      assert.equal(me.status, 200)
      assert.equal(me.body.username, 'alice')
      assert.equal(me.body.email, 'alice@example.com')
      assert.deepEqual(me.body.roles, ['ROLE_USER'])
    })

    test('POST /api/auth/logout revokes the current session without a body', async (t) => {
      const { api } = await start(t)
      const credentials = { username: 'user', password: DEMO_PASSWORD }
      const { body: pair } = await api.post('/api/auth/login', credentials)

      const reply = await api.request('POST', '/api/auth/logout', { token: pair.accessToken })

      assert.equal(reply.status, 200)
      const { refreshToken } = pair
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
      assert.equal((await api.post('/api/auth/logout')).status, 401)
    })

    test('POST /api/auth/logout ends the session of the Bearer token whatever the body says', async (t) => {
      const { api } = await start(t)
      const logIn = async (username: string) =>
        (await api.post('/api/auth/login', { username, password: DEMO_PASSWORD })).body
      const [current, other, third, foreign] = [
        await logIn('user'),
        await logIn('user'),
        await logIn('user'),
        await logIn('admin'),
      ]
      const isAlive = async ({ refreshToken }: { refreshToken: string }) =>
        (await api.post('/api/auth/refresh', { refreshToken })).status === 200
      const logOut = (pair: { accessToken: string }, refreshToken: string) =>
        api.post('/api/auth/logout', { refreshToken }, { token: pair.accessToken })

      assert.equal((await logOut(current, ' ')).status, 400)
      assert.equal((await logOut(current, other.refreshToken)).status, 200)
      assert.deepEqual([await isAlive(current), await isAlive(other)], [false, false])
      assert.equal((await logOut(third, foreign.refreshToken)).status, 200)
      assert.deepEqual([await isAlive(third), await isAlive(foreign)], [false, true])
      const last = await logIn('user')
      assert.equal((await logOut(last, 'unknown')).status, 200)
      assert.equal(await isAlive(last), false)
    })

    test('an access token reads no files after an administrator has ended its session', async (t) => {
      const { api, admin, user } = await start(t)
      const list = async () => (await api.get('/file/list', { token: user })).status
      assert.equal(await list(), 200)
      const { body: me } = await api.get('/api/users/me', { token: user })

      const end = async (body: object) =>
        (await api.deleteWith(`/api/users/${me.id}/sessions`, body, { token: admin })).status

      assert.deepEqual([await end({}), await list()], [400, 200])
      assert.deepEqual([await end({ reason: 'a lost device' }), await list()], [204, 401])
    })

    for (const [what, seconds] of [
      ['an upload that lasts longer than a minute', 61],
      ['an upload during which the clock is set back', -50],
    ] as const)
      test(`${what} is 401 and leaves nothing when its user was disabled meanwhile`, async (t) => {
        const { api, admin, user, baseUrl, clock, root } = await start(t)
        const { body: me } = await api.get('/api/users/me', { token: user })
        const sending = request(`${baseUrl}/file`, {
          method: 'POST',
          headers: {
            ...{ authorization: `Bearer ${user}`, expect: '100-continue' },
            'content-type': 'multipart/form-data; boundary=x',
          },
        })
        t.after(() => sending.destroy())
        await once(sending, 'continue')
        sending.write('--x\r\ncontent-disposition: form-data; name="file"; filename="a.txt"\r\n')

        clock.advance(seconds)
        const change = { enabled: false }
        assert.equal((await api.patch(`/api/users/${me.id}`, change, { token: admin })).status, 200)
        sending.end('content-type: text/plain\r\n\r\nlate\r\n--x--\r\n')
        const [reply]: IncomingMessage[] = await once(sending, 'response')

        assert.equal(reply?.statusCode, 401)
        const entries = await readdir(root, { recursive: true, withFileTypes: true })
        assert.deepEqual(
          entries.filter((entry) => entry.isFile()).map(({ name }) => name),
          [],
        )
      })

    test('GET /api/users is a page of users, for ROLE_ADMIN', async (t) => {
      const { api, admin, user } = await start(t)

      const page = await api.get('/api/users?size=1', { token: admin })

      assert.equal(page.status, 200)
      assert.equal(page.body.totalElements, 2)
      assert.equal(page.body.content.length, 1)
      assert.equal((await api.get('/api/users', { token: user })).status, 403)
      assert.equal((await api.get('/api/users')).status, 401)
    })

    test('GET /api-test is public and redirects to the workbench', async (t) => {
      const { api } = await start(t)

      const reply = await api.get('/api-test')

      assert.equal(reply.status, 302)
      assert.equal(reply.headers.get('location'), '/api-test/index.html')
    })

    test('the actuator shows name, version and health', async (t) => {
      const { api } = await start(t)

      assert.deepEqual((await api.get('/actuator/health')).body, { status: 'UP' })
      assert.deepEqual((await api.get('/actuator/info')).body, {
        app: { name: 'storage-full', version: '2.0.0' },
      })
    })
  })
