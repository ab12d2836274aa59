import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ALICE, adminToken, engines, sharedIdentity } from './start-identity.ts'

// One test for each row of the specification's tables, in the same order and words.
for (const engine of engines) {
  describe(
    `the specification's requests, sessions and limits on ${engine.name}`,
    engine.options,
    () => {
      const identity = sharedIdentity({ engine })
      const logIn = (body: object = ALICE) => identity().api.post('/api/auth/login', body)
      const refresh = (refreshToken: string) =>
        identity().api.post('/api/auth/refresh', { refreshToken })
      const logOut = (refreshToken: string, token: string) =>
        identity().api.post('/api/auth/logout', { refreshToken }, { token })
      const me = (token: string) => identity().api.get('/api/users/me', { token })

      describe('the login request', () => {
        for (const field of ['username', 'password'] as const) {
          test(`${field}: a string, required`, async () => {
            const absent = await logIn({ ...ALICE, [field]: undefined })
            const number = await logIn({ ...ALICE, [field]: 12345 })

            assert.deepEqual([absent.status, number.status], [400, 400])
            assert.deepEqual(absent.body.errors, [`${field}: is required`])
            assert.deepEqual(number.body.errors, [`${field}: must be a string`])
          })
        }
      })

      describe('the token pair of login and refresh', () => {
        const pairs = async () => {
          const { body: first } = await logIn()
          const { body: second } = await refresh(first.refreshToken)
          return [first, second]
        }

        test('accessToken: a string, JWT access token', async () => {
          for (const { accessToken } of await pairs()) {
            assert.match(accessToken, /^[\w-]+\.[\w-]+\.[\w-]+$/)
            assert.equal((await me(accessToken)).status, 200)
          }
        })

        test('refreshToken: a string, opaque refresh token', async () => {
          for (const { refreshToken } of await pairs()) assert.match(refreshToken, /^[\w-]{43}$/)
        })

        test('tokenType: the constant Bearer', async () => {
          for (const { tokenType } of await pairs()) assert.equal(tokenType, 'Bearer')
        })

        test('expiresInSeconds: lifetime of the access token in seconds, 900', async () => {
          for (const { expiresInSeconds } of await pairs()) assert.equal(expiresInSeconds, 900)
        })

        test('refreshTokenExpiresInSeconds: lifetime of the refresh token in seconds, 1209600', async () => {
          for (const { refreshTokenExpiresInSeconds } of await pairs())
            assert.equal(refreshTokenExpiresInSeconds, 1_209_600)
        })
      })

      describe('the refresh-token session', () => {
        test('none → login with valid credentials of an enabled user → active, token pair returned', async () => {
          const { status, body } = await logIn()

          assert.equal(status, 200)
          assert.equal((await refresh(body.refreshToken)).status, 200)
        })

        test('active → refresh with the token → rotated, a new pair is returned and its refresh token is active', async () => {
          const { body: first } = await logIn()

          const { status, body: second } = await refresh(first.refreshToken)

          assert.equal(status, 200)
          assert.notEqual(second.refreshToken, first.refreshToken)
          assert.equal((await refresh(second.refreshToken)).status, 200)
        })

        test('rotated → refresh with the same token again → rotated, rejected with 401', async () => {
          const { body } = await logIn()
          await refresh(body.refreshToken)

          assert.equal((await refresh(body.refreshToken)).status, 401)
          assert.equal((await refresh(body.refreshToken)).status, 401)
        })

        test("active → logout with the session's refresh token → revoked, the access token stays valid until it expires", async () => {
          const { body } = await logIn()

          assert.equal((await logOut(body.refreshToken, body.accessToken)).status, 200)

          assert.equal((await refresh(body.refreshToken)).status, 401)
          identity().clock.advance(899)
          assert.equal((await me(body.accessToken)).status, 200)
          identity().clock.advance(1)
          assert.equal((await me(body.accessToken)).status, 401)
        })

        test('active → the refresh token lifetime passes → expired, refresh is rejected with 401', async () => {
          const { body } = await logIn()
          identity().clock.advance(1_209_600)

          assert.equal((await refresh(body.refreshToken)).status, 401)
        })

        test('revoked → refresh → revoked, rejected with 401', async () => {
          const { body } = await logIn()
          await logOut(body.refreshToken, body.accessToken)

          assert.equal((await refresh(body.refreshToken)).status, 401)
          assert.equal((await refresh(body.refreshToken)).status, 401)
        })

        test('a disabled user cannot log in', async () => {
          const { api, userId } = identity()
          const setEnabled = async (enabled: boolean) =>
            api.patch(`/api/users/${userId}`, { enabled }, { token: await adminToken(api) })

          await setEnabled(false)
          assert.equal((await logIn()).status, 401)
          await setEnabled(true)
          assert.equal((await logIn()).status, 200)
        })
      })

      describe('the limits', () => {
        test('minimum password length at registration: 12 characters', async () => {
          const register = async (name: string, password: string) => {
            const account = { username: name, email: `${name}@localhost`, password }
            return (await identity().api.post('/api/auth/register', account)).status
          }

          assert.equal(await register('eleven', '12345678901'), 400)
          assert.equal(await register('twelve', '123456789012'), 201)
        })

        test('access token lifetime: 900 seconds', async () => {
          const { body } = await logIn()

          identity().clock.advance(899)
          assert.equal((await me(body.accessToken)).status, 200)
          identity().clock.advance(1)
          assert.equal((await me(body.accessToken)).status, 401)
        })

        test('refresh token lifetime: 1209600 seconds', async () => {
          const [{ body: one }, { body: two }] = [await logIn(), await logIn()]

          identity().clock.advance(1_209_599)
          assert.equal((await refresh(one.refreshToken)).status, 200)
          identity().clock.advance(1)
          assert.equal((await refresh(two.refreshToken)).status, 401)
        })
      })
    },
  )
}
