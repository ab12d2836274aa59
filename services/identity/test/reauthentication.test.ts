import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { FLAGS } from './authenticator.ts'
import { enrol } from './authenticator-app.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, startIdentity, startWithAlice } from './start-identity.ts'

const env = { IDENTITY_REAUTHENTICATE: 'true' }

/** Makes every call of a user that the setting protects, and returns the replies. */
async function protectedCalls(api: Api, token: string) {
  const { headers } = await startPasskeyClient(api)
  const changeEmail = { newEmail: 'ada@example.com' }
  const wrongPassword = { currentPassword: 'wrong', newPassword: 'an entirely new password' }
  const code = { code: '000000' }
  const json = { 'content-type': 'application/json' }
  const replies = [
    await api.post('/api/users/me/totp/confirm', code, { token }),
    await api.post('/api/users/me/totp', undefined, { token }),
    await api.request('DELETE', '/api/users/me/totp', {
      token,
      headers: json,
      body: JSON.stringify(code),
    }),
    await api.post('/api/users/me/recovery-codes', code, { token }),
    await api.post('/api/users/me/email', changeEmail, { token }),
    await api.post('/api/users/me/password', wrongPassword, { token }),
    await api.post('/webauthn/register/options', undefined, { token, headers }),
    await api.post('/webauthn/register', {}, { token, headers }),
    await api.delete('/webauthn/register/AAAA', { token, headers }),
  ]
  return replies.map(({ status, body }) => (body.code ? `${status} ${body.code}` : String(status)))
}

const KEY = { name: 'reports', scopes: ['users:read'] }

/**
 * Makes the protected calls that delete or export an account, remove a factor or passkey of another user,
 * or change service keys.
 */
async function endings(
  api: Api,
  { token, admin, userId }: { token: string; admin: string; userId: number },
) {
  const why = {
    token: admin,
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ reason: 'asked for' }),
  }
  const replies = [
    await api.delete('/api/users/me', { token }),
    await api.post('/api/users/me/export', undefined, { token }),
    await api.post('/api/users/me/export/file', undefined, { token }),
    await api.request('DELETE', `/api/users/${userId}`, why),
    await api.request('DELETE', `/api/users/${userId}/totp`, why),
    await api.request('DELETE', `/api/users/${userId}/passkeys`, why),
    await api.request('DELETE', `/api/users/${userId}/passkeys/AAAA`, why),
    await api.request('POST', `/api/users/${userId}/export`, why),
    await api.post('/api/service-keys', KEY, { token: admin }),
    await api.post('/api/service-keys/1/rotate', {}, { token: admin }),
    await api.delete('/api/service-keys/1', { token: admin }),
  ]
  return replies.map(({ status, body }) => `${status} ${body.code}`)
}

const REACHED = [
  '404 SECOND_FACTOR_NOT_FOUND',
  '201',
  '404 SECOND_FACTOR_NOT_FOUND',
  '404 SECOND_FACTOR_NOT_FOUND',
  '202',
  '400 VALIDATION_ERROR',
  '200',
  '400 VALIDATION_ERROR',
  '403 ACCESS_DENIED',
]
const REFUSED = Array.from({ length: REACHED.length }, () => '403 REAUTHENTICATION_REQUIRED')

for (const engine of engines)
  describe(`a recent authentication on ${engine.name}`, engine.options, () => {
    test('is required for the protected calls, and lasts ten minutes', async (t) => {
      const { api, token, clock, userId } = await startWithAlice(t, { engine, env })
      const admin = await adminToken(api)
      const { body: other } = await api.post('/api/auth/login', ALICE)
      const again = (body: object) => api.post('/api/auth/reauthenticate', body, { token })
      assert.deepEqual(await protectedCalls(api, token), REACHED)
      assert.equal((await api.post('/api/service-keys', KEY, { token: admin })).status, 201)

      clock.advance(600)
      assert.deepEqual(await protectedCalls(api, token), REFUSED)
      assert.deepEqual(await endings(api, { token, admin, userId }), Array(11).fill(REFUSED[0]))
      assert.equal((await again({})).status, 400)
      const wrong = await again({ password: 'wrong' })
      assert.deepEqual(
        [wrong.status, wrong.body.errors],
        [400, ['password: is not the current password']],
      )
      assert.deepEqual(await protectedCalls(api, token), REFUSED)
      assert.equal((await again({ password: ALICE.password })).status, 204)
      assert.deepEqual(await protectedCalls(api, other.accessToken), REFUSED)
      clock.advance(299)
      assert.equal((await api.post('/api/users/me/totp', undefined, { token })).status, 201)
    })

    test('requires the second factor too, except with a passkey that verified the user', async (t) => {
      const { api, token, clock, pair } = await startWithAlice(t, { engine, env })
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(token)).status, 200)
      const { app } = await enrol(api, token, clock)
      clock.advance(600)
      const again = async (body: object) => {
        const { status, body: reply } = await api.post('/api/auth/reauthenticate', body, { token })
        return [status, reply.errors?.[0]]
      }
      const { password } = ALICE
      const assertion = async (flags: number) =>
        passkey.authenticator.get(await passkey.authenticationOptions(), { flags })

      const present = await assertion(FLAGS.UP)
      assert.deepEqual(await again({ password }), [400, 'code: is required'])
      assert.deepEqual(await again({ password, code: app.wrong() }), [
        400,
        'code: is wrong or was used before',
      ])
      assert.deepEqual(await again({ passkey: present }), [400, 'code: is required'])
      assert.deepEqual(await again({ passkey: present }), [400, 'passkey: was not accepted'])
      assert.deepEqual(await again({ password, code: app.next() }), [204, undefined])
      assert.deepEqual(await again({ passkey: await assertion(FLAGS.UP | FLAGS.UV) }), [
        204,
        undefined,
      ])
      const { refreshToken } = pair
      const { body: next } = await api.post('/api/auth/refresh', { refreshToken })
      const [, payload = ''] = next.accessToken.split('.')
      const claims = JSON.parse(Buffer.from(payload, 'base64url').toString())
      assert.deepEqual([claims.amr, claims.auth_time], [['hwk', 'mfa'], claims.iat])
    })

    test('does not accept the passkey of another user', async (t) => {
      const { api, token } = await startWithAlice(t, { engine, env })
      const bob = { ...ALICE, username: 'bob', email: 'bob@example.com' }
      await api.post('/api/auth/register', bob)
      const { body: other } = await api.post('/api/auth/login', bob)
      const passkey = await startPasskeyClient(api)
      assert.equal((await passkey.register(other.accessToken)).status, 200)
      const assertion = passkey.authenticator.get(await passkey.authenticationOptions())

      const { status } = await api.post(
        '/api/auth/reauthenticate',
        { passkey: assertion },
        { token },
      )

      assert.equal(status, 400)
      const admin = { token: await adminToken(api) }
      const { body } = await api.get('/api/audit?event=REAUTHENTICATED', admin)
      const [row] = body.content as Record<string, string>[]
      assert.deepEqual([row?.actor, row?.subject, row?.result], ['alice', 'alice', 'REFUSED'])
    })

    test('is not required by default', async (t) => {
      const { api, token, clock } = await startWithAlice(t, { engine })

      clock.advance(899)

      assert.deepEqual(await protectedCalls(api, token), REACHED)
    })
  })

for (const engine of engines)
  describe(`an address that must be verified on ${engine.name}`, engine.options, () => {
    test('is demanded only after the right password, and the login succeeds once it is verified', async (t) => {
      const { api } = await startIdentity(t, {
        engine,
        env: { IDENTITY_REQUIRE_VERIFIED: 'true' },
      })
      await api.post('/api/auth/register', ALICE)
      const logIn = async (credentials: object) => {
        const { status, body } = await api.post('/api/auth/login', credentials)
        return [status, body.code]
      }

      assert.deepEqual(await logIn({ ...ALICE, password: 'wrong' }), [401, 'INVALID_CREDENTIALS'])
      assert.deepEqual(await logIn(ALICE), [403, 'EMAIL_NOT_VERIFIED'])
      const token = tokenOf(await mailTo(api, ALICE.email, 'verify-email'))
      assert.equal((await api.post('/api/auth/verify-email', { token })).status, 204)
      assert.deepEqual(await logIn(ALICE), [200, undefined])
    })

    test('leaves a row in the audit when it refuses the right password', async (t) => {
      const { api, config } = await startIdentity(t, { engine })
      await api.post('/api/auth/register', ALICE)
      const { databaseUrl: IDENTITY_DATABASE_URL } = config
      const env = { IDENTITY_DATABASE_URL, IDENTITY_REQUIRE_VERIFIED: 'true' }
      const strict = await startIdentity(t, { engine, env })

      assert.equal((await strict.api.post('/api/auth/login', ALICE)).status, 403)

      const token = await adminToken(api)
      const { body } = await api.get('/api/audit?event=LOGIN&user=alice', { token })
      assert.deepEqual(
        body.content.map(({ result }: { result: string }) => result),
        ['REFUSED'],
      )
    })
  })
