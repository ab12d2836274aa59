import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import {
  ADMIN,
  ALICE,
  adminToken,
  engines,
  sharedIdentity,
  startWithAlice,
} from './start-identity.ts'

for (const engine of engines) {
  describe(`GET /api/users/me on ${engine.name}`, engine.options, () => {
    test('returns the profile of the user in the access token', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })

      const { status, body } = await api.get('/api/users/me', { token })

      assert.equal(status, 200)
      assert.deepEqual(body, {
        id: userId,
        username: 'alice',
        email: 'alice@example.com',
        roles: ['ROLE_USER'],
        enabled: true,
      })
    })

    test('is refused from the next request on when the user is disabled', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)

      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })

      assert.equal((await api.get('/api/users/me', { token })).status, 401)
    })
  })

  describe(`GET /api/users on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const page = async (query: string) => {
      const { api } = identity()
      return api.get(`/api/users${query}`, { token: await adminToken(api) })
    }

    test('is 401 without a token, 403 without ROLE_ADMIN, 200 for an administrator', async () => {
      const { api, token } = identity()

      assert.equal((await api.get('/api/users')).status, 401)
      const forbidden = await api.get('/api/users', { token })
      assert.deepEqual([forbidden.status, forbidden.body.code], [403, 'ACCESS_DENIED'])
      assert.equal((await page('')).status, 200)
    })

    test('pages and counts users whose ids have gaps', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const { db, close } = await openDatabase<IdentityTables>(
        config.databaseUrl,
        identityMigrations,
      )
      await db.updateTable('users').set({ id: 1000 }).where('username', '=', 'user').execute()
      await close()
      const token = await adminToken(api)
      const pageOf = async (query: string) =>
        (await api.get(`/api/users?size=1&${query}`, { token })).body

      for (const [sort, expected] of [
        ['id,asc', ['admin', 'alice', 'user']],
        ['id,desc', ['user', 'alice', 'admin']],
      ] as const)
        for (const [number, username] of expected.entries()) {
          const { content, totalElements } = await pageOf(`sort=${sort}&page=${number}`)
          assert.deepEqual([content[0].username, content.length], [username, 1])
          assert.equal(totalElements, 3)
        }
    })

    test('returns a page of summaries without password hashes', async () => {
      const { body, bytes } = await page('')

      const { content, ...envelope } = body
      assert.deepEqual(Object.keys(content[0]), [
        'id',
        'username',
        'email',
        'roles',
        'enabled',
        'createdAt',
      ])
      assert.deepEqual(
        content.map(({ username }: { username: string }) => username),
        ['admin', 'user', 'alice'],
      )
      assert.ok(!bytes.includes('argon2'))
      const sort = { empty: true, sorted: false, unsorted: true }
      assert.deepEqual(envelope, {
        pageable: { pageNumber: 0, pageSize: 20, offset: 0, paged: true, unpaged: false, sort },
        last: true,
        totalPages: 1,
        totalElements: 3,
        size: 20,
        number: 0,
        sort,
        first: true,
        numberOfElements: 3,
        empty: false,
        page: { size: 20, number: 0, totalElements: 3, totalPages: 1 },
      })
    })

    const names = async (query: string) =>
      (await page(query)).body.content.map(({ username }: { username: string }) => username)

    test('pages and sorts', async () => {
      assert.deepEqual(await names('?size=2&page=1'), ['alice'])
      assert.deepEqual(await names('?sort=username,desc'), ['user', 'alice', 'admin'])
      assert.deepEqual(await names('?sort=email'), ['admin', 'alice', 'user'])
      assert.deepEqual(await names('?sort=enabled,desc&sort=username,asc'), [
        'admin',
        'alice',
        'user',
      ])
      assert.deepEqual(await names('?sort=createdAt,asc&size=1'), ['admin'])
      assert.deepEqual(await names('?page=99'), [])
      assert.deepEqual(await names('?page=999999999999999&size=2'), [])
    })

    test('shows every user exactly once, whatever the sort order', async () => {
      const everyone = ['admin', 'alice', 'user']
      const sorts = ['', 'id', 'id,desc', 'username', 'email,desc', 'createdAt,desc', 'enabled']
      for (const sort of sorts) {
        const pages = await Promise.all(
          [0, 1, 2].map((n) => names(`?size=1&page=${n}&sort=${sort}`)),
        )
        assert.deepEqual(pages.flat().sort(), everyone, sort)
      }
      assert.deepEqual(await names('?sort=id,desc&size=2'), ['alice', 'user'])
      assert.deepEqual(await names('?sort=id,desc&size=2&page=1'), ['admin'])
    })

    test('falls back to the defaults for invalid numbers', async () => {
      for (const query of ['?page=-1', '?page=x', '?size=0', '?size=1e9x', '?page=1.5&size='])
        assert.equal((await names(query)).length, 3)
      assert.equal((await page('?size=100000')).body.size, 2000)
    })

    test('is 400 for an unknown sort property', async () => {
      for (const sort of ['passwordHash', 'password_hash,desc', 'roles', 'x;drop table users'])
        assert.equal((await page(`?sort=${encodeURIComponent(sort)}`)).status, 400)
    })
  })

  describe(`PATCH /api/users/{id} on ${engine.name}`, engine.options, () => {
    test('adds and removes a role, effective for tokens already issued', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const setRoles = (roles: string[]) =>
        api.patch(`/api/users/${userId}`, { roles }, { token: admin })

      const given = await setRoles(['ROLE_USER', 'ROLE_ADMIN'])
      assert.equal((await api.get('/api/users', { token })).status, 200)
      await setRoles(['ROLE_USER'])
      assert.equal((await api.get('/api/users', { token })).status, 403)

      assert.equal(given.status, 200)
      assert.deepEqual(given.body.roles, ['ROLE_USER', 'ROLE_ADMIN'])
      assert.ok(!('passwordHash' in given.body))
    })

    test('ends the sessions of a user who is disabled, but not when roles change', async (t) => {
      const { api, pair, userId } = await startWithAlice(t, { engine })
      const { body: admin } = await api.post('/api/auth/login', ADMIN)
      const change = (body: object) =>
        api.patch(`/api/users/${userId}`, body, { token: admin.accessToken })
      const refresh = (refreshToken: string) => api.post('/api/auth/refresh', { refreshToken })

      await change({ roles: ['ROLE_USER', 'ROLE_ADMIN'] })
      const promoted = await refresh(pair.refreshToken)
      await change({ roles: ['ROLE_USER'] })
      const demoted = await refresh(promoted.body.refreshToken)
      await change({ enabled: false })
      await change({ enabled: true })
      const disabled = await refresh(demoted.body.refreshToken)

      const statuses = [promoted, demoted, disabled].map(({ status }) => status)
      assert.deepEqual(statuses, [200, 200, 401])
      assert.equal((await refresh(admin.refreshToken)).status, 200)
    })

    test('disables and enables a user', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const logIn = async () => (await api.post('/api/auth/login', ALICE)).status

      await api.patch(`/api/users/${userId}`, { enabled: false }, { token })
      assert.equal(await logIn(), 401)
      const enabled = await api.patch(`/api/users/${userId}`, { enabled: true }, { token })
      assert.equal(enabled.body.enabled, true)
      assert.equal(await logIn(), 200)
    })

    test('changes only the state and the roles', async (t) => {
      const { api, token: alice, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const { body: before } = await api.get('/api/users/me', { token: alice })

      const change = { id: 1, username: 'mallory', email: 'm@localhost', passwordHash: 'x' }
      const { status, body } = await api.patch(`/api/users/${userId}`, change, { token })

      assert.equal(status, 200)
      const { createdAt: _, ...profile } = body
      assert.deepEqual(profile, before)
      assert.deepEqual((await api.get('/api/users/me', { token: alice })).body, before)
    })

    test('keeps the last enabled administrator', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const { body: me } = await api.get('/api/users/me', { token })
      const changeMe = (change: object) => api.patch(`/api/users/${me.id}`, change, { token })

      assert.equal((await changeMe({ enabled: false })).body.code, 'LAST_ADMINISTRATOR')
      assert.equal((await changeMe({ roles: ['ROLE_USER'] })).status, 409)
      assert.equal((await changeMe({ roles: ['ROLE_ADMIN'] })).status, 200)
      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_ADMIN'] }, { token })
      assert.equal((await changeMe({ enabled: false })).status, 200)
    })

    test('keeps one administrator when two demote each other concurrently', async (t) => {
      const { api, token: alice, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const { body: me } = await api.get('/api/users/me', { token: admin })
      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_ADMIN'] }, { token: admin })

      const replies = await Promise.all([
        api.patch(`/api/users/${userId}`, { roles: [] }, { token: admin }),
        api.patch(`/api/users/${me.id}`, { roles: [] }, { token: alice }),
      ])

      const demoted = replies.filter(({ status }) => status === 200)
      assert.equal(demoted.length, 1)
    })

    test('is 404 for an unknown user, 400 for a bad body, 403 without ROLE_ADMIN', async (t) => {
      const { api, token: alice, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)

      for (const id of ['999', '0', '-1', 'x', '1.5', '9007199254740991', '99999999999999999999'])
        assert.equal((await api.patch(`/api/users/${id}`, {}, { token })).status, 404)
      const bad = [
        { enabled: 'yes' },
        { enabled: null },
        { roles: 'ROLE_ADMIN' },
        { roles: ['ROLE_ROOT'] },
        { roles: ['ROLE_USER', 'ROLE_USER'] },
        undefined,
      ]
      for (const body of bad)
        assert.equal((await api.patch(`/api/users/${userId}`, body, { token })).status, 400)
      const forbidden = await api.patch(`/api/users/${userId}`, {}, { token: alice })
      assert.equal(forbidden.status, 403)
    })
  })
}
