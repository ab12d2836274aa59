import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const refresh = (api: Api, refreshToken: string) => api.post('/api/auth/refresh', { refreshToken })

for (const engine of engines) {
  describe(`POST /api/auth/refresh on ${engine.name}`, engine.options, () => {
    test('exchanges a refresh token for a new pair', async (t) => {
      const { api, pair } = await startWithAlice(t, { engine })

      const { status, body } = await refresh(api, pair.refreshToken)

      assert.equal(status, 200)
      assert.notEqual(body.refreshToken, pair.refreshToken)
      assert.notEqual(body.accessToken, pair.accessToken)
      assert.equal(body.tokenType, 'Bearer')
      assert.equal((await api.get('/api/users/me', { token: body.accessToken })).status, 200)
      assert.equal((await refresh(api, body.refreshToken)).status, 200)
    })

    test('refuses a rotated token every time, and the newer one stays valid', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      const { body: second } = await refresh(api, pair.refreshToken)

      const replays = [await refresh(api, pair.refreshToken), await refresh(api, pair.refreshToken)]
      clock.advance(3600)
      replays.push(await refresh(api, pair.refreshToken))

      for (const replay of replays) {
        assert.equal(replay.status, 401)
        assert.equal(replay.body.code, 'INVALID_REFRESH_TOKEN')
      }
      assert.equal((await refresh(api, second.refreshToken)).status, 200)
    })

    test('with REFRESH_REUSE=revoke a replay of any earlier token ends that session only', async (t) => {
      const env = { IDENTITY_REFRESH_REUSE: 'revoke' }
      const { api, pair } = await startWithAlice(t, { engine, env })
      const { body: other } = await api.post('/api/auth/login', ALICE)
      const { body: second } = await refresh(api, pair.refreshToken)
      const { body: third } = await refresh(api, second.refreshToken)

      assert.equal((await refresh(api, pair.refreshToken)).status, 401)

      assert.equal((await refresh(api, third.refreshToken)).status, 401)
      assert.equal((await refresh(api, other.refreshToken)).status, 200)
    })

    test('with REFRESH_REUSE=revoke a replay within 10 seconds of the rotation is 401 and ends nothing', async (t) => {
      const env = { IDENTITY_REFRESH_REUSE: 'revoke' }
      const { api, clock, pair } = await startWithAlice(t, { engine, env })
      const { body: second } = await refresh(api, pair.refreshToken)
      clock.advance(9)

      assert.equal((await refresh(api, pair.refreshToken)).status, 401)
      const third = await refresh(api, second.refreshToken)
      assert.equal(third.status, 200)
      clock.advance(10)
      assert.equal((await refresh(api, second.refreshToken)).status, 401)

      assert.equal((await refresh(api, third.body.refreshToken)).status, 401)
    })

    test('ends a session after 90 days, however often it is refreshed', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      const day = 86_400
      let last = { status: 200, body: pair }
      for (let days = 0; days < 88; days += 11) {
        clock.advance(11 * day)
        last = await refresh(api, last.body.refreshToken)
        assert.equal(last.status, 200)
      }
      assert.equal(last.body.refreshTokenExpiresInSeconds, 2 * day)
      const token = last.body.accessToken
      assert.equal((await api.get('/api/users/me/sessions', { token })).body.length, 1)
      clock.advance(2 * day)

      assert.equal((await refresh(api, last.body.refreshToken)).status, 401)

      const { body: next } = await api.post('/api/auth/login', ALICE)
      const { body: sessions } = await api.get('/api/users/me/sessions', {
        token: next.accessToken,
      })
      assert.deepEqual([sessions.length, sessions[0].current], [1, true])
    })

    test('ends a session after IDENTITY_SESSION_MAX_DAYS', async (t) => {
      const env = { IDENTITY_SESSION_MAX_DAYS: '1' }
      const { api, clock, pair } = await startWithAlice(t, { engine, env })
      assert.equal(pair.refreshTokenExpiresInSeconds, 86_400)
      clock.advance(86_399)
      const { status, body } = await refresh(api, pair.refreshToken)
      assert.deepEqual([status, body.refreshTokenExpiresInSeconds], [200, 1])
      clock.advance(1)

      assert.equal((await refresh(api, body.refreshToken)).status, 401)
    })

    test('refuses a token after fourteen days, and each use grants the full lifetime again', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      clock.advance(1_209_599)
      const inTime = await refresh(api, pair.refreshToken)
      clock.advance(1_209_599)
      const inTimeAgain = await refresh(api, inTime.body.refreshToken)
      clock.advance(1_209_600)

      const late = await refresh(api, inTimeAgain.body.refreshToken)

      assert.deepEqual([inTime.status, inTimeAgain.status, late.status], [200, 200, 401])
    })

    test('refuses the token of a revoked session', async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })
      await api.post('/api/auth/logout', { refreshToken: pair.refreshToken }, { token })

      assert.equal((await refresh(api, pair.refreshToken)).status, 401)
    })

    test('refuses a disabled user, even after the user is enabled again', async (t) => {
      const { api, pair, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const setEnabled = (enabled: boolean) =>
        api.patch(`/api/users/${userId}`, { enabled }, { token })

      await setEnabled(false)
      assert.equal((await refresh(api, pair.refreshToken)).status, 401)
      await setEnabled(true)
      assert.equal((await refresh(api, pair.refreshToken)).status, 401)
    })

    test('lets exactly one of 150 concurrent refreshes succeed; the others are 401, and one token is valid', async (t) => {
      const { api, pair } = await startWithAlice(t, { engine })

      // On a busy machine some wait for the database in vain, and are told to try again.
      const refreshPatiently = async () => {
        const reply = await refresh(api, pair.refreshToken)
        return reply.status === 503 ? refresh(api, pair.refreshToken) : reply
      }
      const replies = await Promise.all(Array.from({ length: 150 }, refreshPatiently))

      const [winner, ...others] = replies.toSorted((one, other) => one.status - other.status)
      assert.equal(winner?.status, 200)
      for (const { status, body } of others) assert.equal(status, 401, JSON.stringify(body))
      assert.equal((await refresh(api, winner.body.refreshToken)).status, 200)
    })

    test('answers 401 to a rotated, a revoked and an expired token, however often they are sent', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '1' }
      const { api, clock, pair, token } = await startWithAlice(t, { engine, env })
      const { body: second } = await refresh(api, pair.refreshToken)
      const { body: other } = await api.post('/api/auth/login', ALICE)
      await api.post('/api/auth/logout', { refreshToken: other.refreshToken }, { token })
      const statuses = async (refreshToken: string) => {
        const replies = []
        for (let n = 0; n < 4; n += 1) replies.push(await refresh(api, refreshToken))
        return replies.map(({ status }) => status)
      }

      assert.deepEqual(await statuses(pair.refreshToken), [401, 401, 401, 401])
      assert.deepEqual(await statuses(other.refreshToken), [401, 401, 401, 401])
      clock.advance(1_209_600)
      assert.deepEqual(await statuses(second.refreshToken), [401, 401, 401, 401])
    })

    test('leaves no valid token when it races with logout, unless it came first and the logout had no effect', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      for (let round = 0; round < 20; round += 1) {
        const { body: pair } = await api.post('/api/auth/login', ALICE)
        const { refreshToken } = pair
        const token = pair.accessToken

        const [refreshed, loggedOut] = await Promise.all([
          refresh(api, refreshToken),
          api.post('/api/auth/logout', { refreshToken }, { token }),
        ])

        assert.equal(loggedOut.status, 200)
        assert.equal((await refresh(api, refreshToken)).status, 401)
        if (refreshed.status === 200) {
          assert.equal((await refresh(api, refreshed.body.refreshToken)).status, 200)
        }
      }
    })

    test('rate limits a caller with unknown tokens, but never a valid token', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '3' }
      const { api, pair } = await startWithAlice(t, { engine, env })
      const statuses: number[] = []
      for (let n = 0; n < 5; n += 1) statuses.push((await refresh(api, 'made up')).status)

      assert.deepEqual(statuses, [401, 401, 401, 429, 429])
      assert.equal((await refresh(api, pair.refreshToken)).status, 200)
    })

    test('stores hashes of refresh tokens only', async (t) => {
      const { api, pair, token } = await startWithAlice(t, { engine })

      const everything = [
        await api.get('/api/users/me/sessions', { token }),
        await api.get('/api/audit', { token: await adminToken(api) }),
      ]

      for (const { bytes } of everything) {
        assert.ok(!bytes.includes(pair.refreshToken))
        assert.ok(!bytes.includes(pair.refreshToken.slice(0, 20)))
      }
    })
  })

  describe(`a refresh with an invalid request on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const bodies: [name: string, body: unknown, status: number][] = [
      ['no token', {}, 400],
      ['a blank token', { refreshToken: ' ' }, 400],
      ['null', { refreshToken: null }, 400],
      ['a number', { refreshToken: 5 }, 400],
      ['an unknown token', { refreshToken: 'x'.repeat(43) }, 401],
      ['a NUL', { refreshToken: '\u0000' }, 401],
      ['an access token', { refreshToken: 'a.b.c' }, 401],
      ['a very long token', { refreshToken: 'x'.repeat(15_000) }, 401],
      ['half a megabyte', { refreshToken: 'x'.repeat(500_000) }, 413],
    ]
    for (const [name, body, status] of bodies) {
      test(`is ${status} for ${name}`, async () => {
        assert.equal((await identity().api.post('/api/auth/refresh', body)).status, status)
      })
    }

    test('a bad Bearer token does not stop a refresh', async () => {
      const { api } = identity()
      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const { refreshToken } = pair

      const reply = await api.post('/api/auth/refresh', { refreshToken }, { token: 'nonsense' })

      assert.equal(reply.status, 200)
    })
  })
}
