import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { ApiReply } from '@plinth/kit/testing'
import { ADMIN, ALICE, adminToken, engines, sharedIdentity } from './start-identity.ts'

// One test for each condition of the specification's table of errors, in the same order and words.
for (const engine of engines) {
  describe(`the specification's errors on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const post = (path: string, body: object, token?: string) =>
      identity().api.post(path, body, token === undefined ? {} : { token })
    const refresh = (refreshToken: string) => post('/api/auth/refresh', { refreshToken })

    test('login with invalid credentials: 401 Unauthorized', async () => {
      isProblem(await post('/api/auth/login', { ...ALICE, password: 'wrong' }), 401, 'Unauthorized')
      isProblem(await post('/api/auth/login', { ...ALICE, username: 'who' }), 401, 'Unauthorized')
    })

    test('login of a disabled user: 401 Unauthorized', async () => {
      const { api } = identity()
      const token = await adminToken(api)
      const { body } = await api.get('/api/users?sort=id', { token })
      const { id } = body.content.find(({ username }: { username: string }) => username === 'user')
      await api.patch(`/api/users/${id}`, { enabled: false }, { token })

      const reply = await post('/api/auth/login', { ...ADMIN, username: 'user' })

      isProblem(reply, 401, 'Unauthorized')
    })

    test('refresh token invalid: 401 Unauthorized', async () => {
      isProblem(await refresh('x'.repeat(43)), 401, 'Unauthorized')
    })

    test('refresh token already rotated: 401 Unauthorized', async () => {
      const { body } = await post('/api/auth/login', ALICE)
      await refresh(body.refreshToken)

      isProblem(await refresh(body.refreshToken), 401, 'Unauthorized')
    })

    test('refresh token revoked: 401 Unauthorized', async () => {
      const { body } = await post('/api/auth/login', ALICE)
      const { refreshToken, accessToken } = body
      await post('/api/auth/logout', { refreshToken }, accessToken)

      isProblem(await refresh(refreshToken), 401, 'Unauthorized')
    })

    const calls: [name: string, call: (token?: string) => Promise<ApiReply>][] = [
      ['logout', (token) => post('/api/auth/logout', { refreshToken: 'x' }, token)],
      ['current-user', (token) => get('/api/users/me', token)],
      ['passkey-list', (token) => get('/api/users/me/passkeys', token)],
    ]
    const get = (path: string, token?: string) =>
      identity().api.get(path, token === undefined ? {} : { token })
    for (const [name, call] of calls) {
      test(`${name} call with missing Bearer token: 401 Unauthorized`, async () => {
        isProblem(await call(), 401, 'Unauthorized')
      })

      test(`${name} call with invalid Bearer token: 401 Unauthorized`, async () => {
        isProblem(await call('nonsense'), 401, 'Unauthorized')
        isProblem(await call(`${identity().token}x`), 401, 'Unauthorized')
      })

      test(`${name} call with expired Bearer token: 401 Unauthorized`, async () => {
        const { body } = await post('/api/auth/login', ALICE)
        assert.equal((await call(body.accessToken)).status, 200)
        identity().clock.advance(900)

        isProblem(await call(body.accessToken), 401, 'Unauthorized')
      })
    }

    test('GET /api/users by a user without ROLE_ADMIN: 403 Forbidden', async () => {
      const { body } = await post('/api/auth/login', ALICE)

      isProblem(await get('/api/users', body.accessToken), 403, 'Forbidden')
    })

    test('registration with an invalid request: validation failure', async () => {
      const reply = await post('/api/auth/register', { ...ALICE, password: 'short' })

      isProblem(reply, 400, 'Validation failed')
      assert.deepEqual(reply.body.errors, ['password: must have at least 12 characters'])
    })

    test('registration of an identity that already exists: 409 Conflict', async () => {
      isProblem(await post('/api/auth/register', ALICE), 409, 'Conflict')
      const sameAddress = { ...ALICE, username: 'alice2' }
      isProblem(await post('/api/auth/register', sameAddress), 409, 'Conflict')
    })

    test('refresh token expired: 401 Unauthorized', async () => {
      const { body } = await post('/api/auth/login', ALICE)
      identity().clock.advance(1_209_600)

      isProblem(await refresh(body.refreshToken), 401, 'Unauthorized')
    })
  })
}

function isProblem({ status, body, headers }: ApiReply, expected: number, title: string): void {
  assert.equal(headers.get('content-type'), 'application/problem+json')
  assert.deepEqual([status, body.status, body.title], [expected, expected, title])
  assert.match(body.code, /^[A-Z_]+$/)
  assert.equal(body.requestId, headers.get('x-request-id'))
}
