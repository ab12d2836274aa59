import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ADMIN, ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

const NEW_PASSWORD = 'a wholly new password'

for (const engine of engines) {
  describe(`a user's own sessions on ${engine.name}`, engine.options, () => {
    test('are listed with their origin, and the current one is marked', async (t) => {
      const { api, clock, token } = await startWithAlice(t, { engine })
      const startedAt = clock().toISOString()
      clock.advance(60)
      await api.post('/api/auth/login', ALICE, { headers: { 'user-agent': 'phone' } })

      const { status, body } = await api.get('/api/users/me/sessions', { token })

      assert.equal(status, 200)
      const later = clock().toISOString()
      assert.deepEqual(
        body.map(({ id, ...session }: { id: number }) => session),
        [
          {
            createdAt: later,
            lastUsedAt: later,
            address: '127.0.0.1',
            userAgent: 'phone',
            current: false,
            client: null,
          },
          {
            createdAt: startedAt,
            lastUsedAt: startedAt,
            address: '127.0.0.1',
            userAgent: 'node',
            current: true,
            client: null,
          },
        ],
      )
    })

    test('update their last use with every refresh', async (t) => {
      const { api, clock, pair, token } = await startWithAlice(t, { engine })
      const createdAt = clock().toISOString()
      clock.advance(60)
      await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })

      const [session] = (await api.get('/api/users/me/sessions', { token })).body

      assert.equal(session.createdAt, createdAt)
      assert.equal(session.lastUsedAt, clock().toISOString())
    })

    test('are listed until the second in which they expire', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      const listed = async () => {
        const { body } = await api.post('/api/auth/login', ALICE)
        const token = body.accessToken as string
        return (await api.get('/api/users/me/sessions', { token })).body.length
      }

      clock.advance(pair.refreshTokenExpiresInSeconds - 1)
      assert.equal(await listed(), 2)
      clock.advance(1)

      assert.equal(await listed(), 2)
    })

    test("can be ended one by one; an ended, unknown or another user's session is 404", async (t) => {
      const { api, pair } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const [session] = (await api.get('/api/users/me/sessions', { token: pair.accessToken })).body
      const { body: other } = await api.post('/api/auth/login', ALICE)
      const token = other.accessToken
      const end = async (id: number | string, as: string) =>
        (await api.delete(`/api/users/me/sessions/${id}`, { token: as })).status

      assert.equal(await end(session.id, admin), 404)
      assert.equal(await end(session.id, token), 204)
      assert.equal(await end(session.id, token), 404)
      for (const id of [999_999, 'x', '0', '9007199254740991'])
        assert.equal(await end(id, token), 404)
      const { refreshToken } = pair
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
      const left = (await api.get('/api/users/me/sessions', { token })).body
      assert.deepEqual(
        left.map(({ current }: { current: boolean }) => current),
        [true],
      )
    })

    test('require a token', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      assert.equal((await api.get('/api/users/me/sessions')).status, 401)
      assert.equal((await api.delete('/api/users/me/sessions/1')).status, 401)
    })
  })

  describe(`POST /api/users/me/password on ${engine.name}`, engine.options, () => {
    const change = { currentPassword: ALICE.password, newPassword: NEW_PASSWORD }

    test('changes the password and ends all sessions but the current one', async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })
      const { body: other } = await api.post('/api/auth/login', ALICE)

      const { status } = await api.post('/api/users/me/password', change, { token })

      assert.equal(status, 204)
      const refresh = async (refreshToken: string) =>
        (await api.post('/api/auth/refresh', { refreshToken })).status
      assert.equal(await refresh(other.refreshToken), 401)
      assert.equal(await refresh(pair.refreshToken), 200)
      const logIn = async (password: string) =>
        (await api.post('/api/auth/login', { ...ALICE, password })).status
      assert.equal(await logIn(ALICE.password), 401)
      assert.equal(await logIn(NEW_PASSWORD), 200)
    })

    test("leaves other users' passwords and sessions alone", async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const { body: admin } = await api.post('/api/auth/login', ADMIN)

      await api.post('/api/users/me/password', change, { token })

      const { refreshToken } = admin
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 200)
      assert.equal((await api.post('/api/auth/login', ADMIN)).status, 200)
    })

    test('requires the current password and a new one of at least 12 characters', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const attempt = async (changes: object) => {
        const body = { ...change, ...changes }
        return (await api.post('/api/users/me/password', body, { token })).body.errors
      }

      assert.deepEqual(await attempt({ currentPassword: 'wrong' }), [
        'currentPassword: is not the current password',
      ])
      assert.deepEqual(await attempt({ newPassword: '12345678901' }), [
        'newPassword: must have at least 12 characters',
      ])
      assert.equal((await attempt({ currentPassword: '', newPassword: undefined })).length, 2)
      assert.equal((await api.post('/api/users/me/password', change)).status, 401)
    })

    test('limits how often a stolen access token can guess the current password', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '2' }
      const { api, token } = await startWithAlice(t, { engine, env })
      const guess = { ...change, currentPassword: 'guess' }
      const statuses: number[] = []
      for (let n = 0; n < 3; n += 1)
        statuses.push((await api.post('/api/users/me/password', guess, { token })).status)

      assert.deepEqual(statuses, [400, 400, 429])
    })

    test('limits a burst of guesses too', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '5' }
      const { api, token } = await startWithAlice(t, { engine, env })
      const guess = async (currentPassword: string) => {
        const body = { ...change, currentPassword }
        return (await api.post('/api/users/me/password', body, { token })).status
      }

      const statuses = await Promise.all(Array.from({ length: 20 }, (_, n) => guess(`guess ${n}`)))

      assert.equal(statuses.filter((status) => status === 400).length, 5)
      assert.equal(statuses.filter((status) => status === 429).length, 15)
    })

    test('lets one of two concurrent changes succeed', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const changeTo = async (newPassword: string) =>
        (await api.post('/api/users/me/password', { ...change, newPassword }, { token })).status

      const statuses = await Promise.all([changeTo('first new password'), changeTo(NEW_PASSWORD)])

      assert.deepEqual(statuses.sort(), [204, 400])
    })
  })
}
