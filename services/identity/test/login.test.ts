import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  ADMIN,
  ALICE,
  adminToken,
  engines,
  sharedIdentity,
  startWithAlice,
} from './start-identity.ts'

for (const engine of engines) {
  describe(`POST /api/auth/login on ${engine.name}`, engine.options, () => {
    test('returns a token pair for valid credentials', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      const { status, body, headers } = await api.post('/api/auth/login', ALICE)

      assert.equal(status, 200)
      assert.equal(headers.get('cache-control'), 'no-store')
      const { accessToken, refreshToken, ...rest } = body
      assert.equal(accessToken.split('.').length, 3)
      assert.match(refreshToken, /^[A-Za-z0-9_-]{43}$/)
      assert.deepEqual(rest, {
        tokenType: 'Bearer',
        expiresInSeconds: 900,
        refreshTokenExpiresInSeconds: 1_209_600,
      })
    })

    test('gives the same answer to an unknown user, a wrong password and a disabled user', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const wrong = await api.post('/api/auth/login', { ...ALICE, password: 'wrong password' })
      const unknown = await api.post('/api/auth/login', { ...ALICE, username: 'nobody' })
      const token = await adminToken(api)
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token })
      const disabled = await api.post('/api/auth/login', ALICE)
      const disabledAndWrong = await api.post('/api/auth/login', { ...ALICE, password: 'wrong' })

      const seen = [wrong, unknown, disabled, disabledAndWrong].map(({ status, body, headers }) => {
        const { requestId: _, ...rest } = body
        const volatile = ['date', 'x-request-id']
        const fixed = [...headers].filter(([name]) => !volatile.includes(name))
        return { status, rest, fixed }
      })

      assert.equal(seen[0]?.status, 401)
      assert.equal(seen[0]?.rest.code, 'INVALID_CREDENTIALS')
      for (const answer of seen) assert.deepEqual(answer, seen[0])
    })

    test('accepts the seeded demo accounts', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      const admin = await api.post('/api/auth/login', ADMIN)
      const user = await api.post('/api/auth/login', { ...ADMIN, username: 'user' })

      const [one, two] = await Promise.all(
        [admin, user].map(({ body }) => api.get('/api/users/me', { token: body.accessToken })),
      )
      assert.deepEqual(one?.body.roles, ['ROLE_ADMIN', 'ROLE_USER'])
      assert.equal(one?.body.email, 'admin@example.com')
      assert.deepEqual(two?.body.roles, ['ROLE_USER'])
      assert.equal(two?.body.email, 'user@example.com')
    })

    test('has no demo accounts when they are turned off', async (t) => {
      const env = { IDENTITY_DEMO_ACCOUNTS: 'false' }
      const { api } = await startWithAlice(t, { engine, env })

      assert.equal((await api.post('/api/auth/login', ADMIN)).status, 401)
    })

    test('does not seed demo accounts into a table that has users', async (t) => {
      const url = await engine.freshUrl(t)
      await startWithAlice(t, {
        engine,
        env: { IDENTITY_DEMO_ACCOUNTS: 'false', IDENTITY_DATABASE_URL: url },
      })
      const { api } = await startWithAlice(t, { engine, env: { IDENTITY_DATABASE_URL: url } })

      assert.equal((await api.post('/api/auth/login', ADMIN)).status, 401)
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
    })

    test('rehashes when the hashing cost has risen, and concurrent logins still succeed', async (t) => {
      const url = await engine.freshUrl(t)
      const env = { IDENTITY_DATABASE_URL: url }
      await startWithAlice(t, { engine, env })
      const dearer = { ...env, IDENTITY_PASSWORD_MEMORY_KIB: '16' }
      const { api } = await startWithAlice(t, { engine, env: dearer })

      const atOnce = await Promise.all([1, 2, 3].map(() => api.post('/api/auth/login', ALICE)))
      const later = await api.post('/api/auth/login', ALICE)

      for (const { status } of [...atOnce, later]) assert.equal(status, 200)
    })

    test('is rate limited with 429 and Retry-After after 100 consecutive failures in an hour', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const attempt = (password: string) => api.post('/api/auth/login', { ...ALICE, password })
      for (let n = 0; n < 100; n += 1) assert.equal((await attempt('wrong')).status, 401)
      clock.advance(60)

      const slowed = await attempt('wrong')
      const slowedToo = await attempt(ALICE.password)
      const other = await api.post('/api/auth/login', ADMIN)

      assert.equal(slowed.status, 429)
      assert.equal(slowed.headers.get('retry-after'), '3540')
      assert.equal(slowedToo.status, 429)
      assert.equal(other.status, 200)
      clock.advance(3540)
      assert.equal((await attempt(ALICE.password)).status, 200)
    })

    test('is rate limited in a burst after as many attempts as one by one', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '5' }
      const { api } = await startWithAlice(t, { engine, env })
      for (const username of ['alice', 'nobody']) {
        const guess = (n: number) =>
          api.post('/api/auth/login', { username, password: `guess ${n}` })

        const replies = await Promise.all(Array.from({ length: 30 }, (_, n) => guess(n)))

        const slowed = replies.filter(({ status }) => status === 429)
        assert.equal(replies.filter(({ status }) => status === 401).length, 5)
        assert.equal(slowed.length, 25)
        for (const { headers } of slowed) assert.equal(headers.get('retry-after'), '3600')
      }
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 429)
    })

    test('resets the failure count after a success', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '3' }
      const { api } = await startWithAlice(t, { engine, env })
      const attempt = async (password: string) =>
        (await api.post('/api/auth/login', { ...ALICE, password })).status

      assert.deepEqual([await attempt('wrong'), await attempt('wrong')], [401, 401])
      assert.equal(await attempt(ALICE.password), 200)
      assert.deepEqual([await attempt('wrong'), await attempt('wrong')], [401, 401])
      assert.equal(await attempt(ALICE.password), 200)
    })

    test('ignores X-Forwarded-For when counting failures', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '2' }
      const { api } = await startWithAlice(t, { engine, env })
      const attempt = async (address: string) => {
        const headers = { 'x-forwarded-for': address }
        const body = { ...ALICE, password: 'wrong' }
        return (await api.post('/api/auth/login', body, { headers })).status
      }

      const statuses = [await attempt('10.0.0.1'), await attempt('10.0.0.2')]

      assert.deepEqual([...statuses, await attempt('10.0.0.3')], [401, 401, 429])
    })
  })

  describe(`a login with an invalid request on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const bodies: [name: string, body: unknown, status: number][] = [
      ['no username', { password: 'x' }, 400],
      ['a blank username', { username: ' ', password: 'x' }, 400],
      ['no password', { username: 'alice' }, 400],
      ['a blank password', { username: 'alice', password: '   ' }, 400],
      ['a number as password', { username: 'alice', password: 1 }, 400],
      ['null fields', { username: null, password: null }, 400],
      ['a NUL in the username', { username: 'ali\u0000ce', password: 'x' }, 401],
      ['a lone surrogate', { username: 'ali\ud800', password: '\udfff' }, 401],
      ['SQL as username', { username: "' or 1=1 --", password: 'x' }, 401],
      ['a very long password', { username: 'alice', password: 'x'.repeat(15_000) }, 401],
      ['a very long username', { username: 'x'.repeat(15_000), password: 'x' }, 401],
      [
        'a password that exceeds the body limit',
        { username: 'alice', password: 'x'.repeat(500_000) },
        413,
      ],
    ]
    for (const [name, body, status] of bodies) {
      test(`is ${status} for ${name}`, async () => {
        assert.equal((await identity().api.post('/api/auth/login', body)).status, status)
      })
    }

    test('a bad Bearer token does not stop a login', async () => {
      const reply = await identity().api.post('/api/auth/login', ALICE, { token: 'nonsense' })

      assert.equal(reply.status, 200)
    })
  })
}

describe('more concurrent logins than can be hashed at once', () => {
  test('are queued, and get 503 with Retry-After once the deadline has passed', async (t) => {
    const { api } = await startWithAlice(t, {
      env: {
        IDENTITY_DEMO_ACCOUNTS: 'false',
        IDENTITY_PASSWORD_MEMORY_KIB: '131072',
        IDENTITY_PASSWORD_PASSES: '4',
        IDENTITY_PASSWORD_QUEUE_SECONDS: '1',
        IDENTITY_PASSWORD_WORKERS: '1',
      },
    })

    const replies = await Promise.all(
      Array.from({ length: 40 }, () => api.post('/api/auth/login', ALICE)),
    )

    const late = replies.filter(({ status }) => status === 503)
    assert.ok(replies.some(({ status }) => status === 200))
    assert.ok(late.length > 0)
    for (const { headers, body } of late) {
      assert.equal(headers.get('retry-after'), '5')
      assert.equal(body.code, 'TOO_BUSY')
    }
  })
})
