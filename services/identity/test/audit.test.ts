import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { IDENTITY_AUDIT_EVENTS } from '../src/audit.ts'
import { SCOPES } from '../src/scopes.ts'
import { mailTo } from './inbox.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ADMIN, ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

type Row = Record<string, string | number | null>
type Alice = Awaited<ReturnType<typeof startWithAlice>>

/** Actor, subject and result of every row of one event, oldest first. */
async function rowsOf(api: Api, event: string) {
  const token = await adminToken(api)
  const { body } = await api.get('/api/audit?sort=id,asc&size=2000', { token })
  return (body.content as Row[])
    .filter((row) => row.event === event)
    .map(({ actor, subject, result }) => [actor, subject, result])
}

for (const engine of engines) {
  describe(`GET /api/audit on ${engine.name}`, engine.options, () => {
    test('tells the console what it can record, and the scopes of keys', async (t) => {
      const { api } = await startWithAlice(t, { engine })

      const { auditEvents, keyScopes } = (await api.get('/api-test/facts.json')).body

      const some = ['LOGIN', 'SERVICE_KEY_CREATED', 'WEBHOOK_SECRET_SHOWN']
      for (const event of [...IDENTITY_AUDIT_EVENTS, ...some])
        assert.ok(auditEvents.includes(event), event)
      assert.deepEqual(keyScopes, SCOPES)
    })

    test('has one row for every security event, without any secret', async (t) => {
      const { api, pair, token, userId } = await startWithAlice(t, { engine })
      const wrong = 'a wrong password typed here'
      await api.post('/api/auth/login', { ...ALICE, password: wrong })
      await api.post('/api/auth/login', { username: wrong, password: wrong })
      await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
      await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
      await api.post('/api/auth/refresh', { refreshToken: 'unknown' })
      await api.post('/api/auth/logout', { refreshToken: 'unknown' }, { token })
      const admin = await adminToken(api)
      await api.patch(`/api/users/${userId}`, { roles: [] }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: false }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: true }, { token: admin })
      await api.patch(`/api/users/${userId}`, { enabled: true }, { token: admin })

      const { status, body, bytes } = await api.get('/api/audit?sort=id,asc', { token: admin })

      assert.equal(status, 200)
      assert.deepEqual(
        body.content.map(({ event, actor, subject, result }: Row) => [
          event,
          actor,
          subject,
          result,
        ]),
        [
          ['REGISTER', 'alice', 'alice', 'SUCCESS'],
          ['LOGIN', 'alice', 'alice', 'SUCCESS'],
          ['LOGIN', null, 'alice', 'REFUSED'],
          ['LOGIN', null, null, 'REFUSED'],
          ['REFRESH', 'alice', 'alice', 'SUCCESS'],
          ['REFRESH_REPLAYED', null, 'alice', 'REFUSED'],
          ['REFRESH', null, null, 'REFUSED'],
          ['LOGOUT', 'alice', 'alice', 'UNCHANGED'],
          ['LOGIN', 'admin', 'admin', 'SUCCESS'],
          ['ROLES_CHANGED', 'admin', 'alice', 'SUCCESS'],
          ['USER_DISABLED', 'admin', 'alice', 'SUCCESS'],
          ['USER_ENABLED', 'admin', 'alice', 'SUCCESS'],
        ],
      )
      for (const secret of [wrong, ALICE.password, ADMIN.password, pair.refreshToken, token])
        assert.ok(!bytes.includes(secret))
    })

    test('has at most one row a minute for logouts that end no session', async (t) => {
      const { api, clock, token } = await startWithAlice(t, { engine })
      const logOut = () => api.post('/api/auth/logout', { refreshToken: 'unknown' }, { token })
      for (let n = 0; n < 20; n += 1) assert.equal((await logOut()).status, 200)
      clock.advance(60)
      await logOut()

      const { body } = await api.get('/api/audit', { token: await adminToken(api) })

      const logouts = body.content.filter(({ event }: { event: string }) => event === 'LOGOUT')
      assert.equal(logouts.length, 2)
    })

    test('shows the time, address and request id of each row, newest first', async (t) => {
      const { api, clock } = await startWithAlice(t, { engine })
      const headers = { 'x-request-id': 'my-request-1' }
      await api.post('/api/auth/login', ALICE, { headers })
      const token = await adminToken(api)

      const { body } = await api.get('/api/audit?size=2', { token })

      const [, row] = body.content as Row[]
      const { id, ...rest } = row ?? {}
      assert.ok(Number.isInteger(id))
      assert.deepEqual(rest, {
        at: clock().toISOString(),
        event: 'LOGIN',
        actor: 'alice',
        subject: 'alice',
        address: '127.0.0.1',
        result: 'SUCCESS',
        requestId: 'my-request-1',
      })
      assert.equal(body.totalElements, 4)
    })

    test('can be filtered by event and by user, as actor or subject', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const reason = 'asked for by phone'
      await api.patch(`/api/users/${userId}`, { enabled: false, reason }, { token })
      const rows = async (query: string) => {
        const { body } = await api.get(`/api/audit?${query}`, { token })
        assert.equal(body.totalElements, body.content.length)
        return body.content.map((row: Row) => [row.event, row.actor, row.subject, row.reason])
      }

      const disabled = ['USER_DISABLED', 'admin', 'alice', reason]
      const ofAlice = [
        disabled,
        ['LOGIN', 'alice', 'alice', undefined],
        ['REGISTER', 'alice', 'alice', undefined],
      ]
      assert.deepEqual(await rows('user=Alice'), ofAlice)
      assert.deepEqual(await rows('user=alice&sort=id,asc'), ofAlice.toReversed())
      const sorts = 'sort=id,asc&sort=at,desc'
      assert.deepEqual(await rows(`user=alice&${sorts}`), ofAlice.toReversed())
      assert.deepEqual(await rows('user=admin'), [disabled, ['LOGIN', 'admin', 'admin', undefined]])
      assert.deepEqual(await rows('user=admin&event=USER_DISABLED'), [disabled])
      assert.equal((await rows('event=LOGIN')).length, 2)
      assert.deepEqual(await rows('user=unknown'), [])
      const { body } = await api.get('/api/audit?user=alice&size=2&page=1', { token })
      assert.deepEqual(
        [body.totalElements, body.content.map(({ event }: Row) => event)],
        [3, ['REGISTER']],
      )
      assert.equal((await api.get('/api/audit?event=login%20', { token })).status, 400)
    })

    test('names a service key so that it cannot be taken for a user, and finds it by that name', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const token = await adminToken(api)
      const key = { name: 'Admin', scopes: ['users:write'] }
      const { body: made } = await api.post('/api/service-keys', key, { token })
      const withKey = { token: made.secret }
      await api.patch(`/api/users/${userId}`, { roles: [] }, withKey)
      await api.get('/api/users', withKey)

      const name = `key ${made.id} (Admin)`
      assert.deepEqual(await rowsOf(api, 'ROLES_CHANGED'), [[name, 'alice', 'SUCCESS']])
      assert.deepEqual(await rowsOf(api, 'ACCESS_DENIED'), [[name, 'GET /api/users', 'REFUSED']])
      const { body } = await api.get(`/api/audit?user=${encodeURIComponent(name)}`, { token })
      assert.deepEqual(
        body.content.map(({ event }: Row) => event),
        ['ACCESS_DENIED', 'ROLES_CHANGED', 'SERVICE_KEY_CREATED'],
      )
      assert.equal(body.totalElements, 3)
      assert.equal((await api.get('/api/audit?user=A%00b', { token })).status, 200)
    })

    test('has a row with the endpoint for each caller who lacks the role', async (t) => {
      const { api, token, userId } = await startWithAlice(t, { engine })
      await api.get('/api/users?page=1', { token })
      await api.get('/api/audit', { token })
      await api.patch(`/api/users/${userId}`, { roles: ['ROLE_ADMIN'] }, { token })
      await api.get('/api/users')

      assert.deepEqual(await rowsOf(api, 'ACCESS_DENIED'), [
        ['alice', 'GET /api/users', 'REFUSED'],
        ['alice', 'GET /api/audit', 'REFUSED'],
        ['alice', 'PATCH /api/users/:id', 'REFUSED'],
      ])
    })

    test('has a row for a registration with a username or e-mail address that is taken', async (t) => {
      const { api } = await startWithAlice(t, { engine })
      await api.post('/api/auth/register', { ...ALICE, email: 'other@localhost' })
      await api.post('/api/auth/register', { ...ALICE, username: 'other' })

      assert.deepEqual(await rowsOf(api, 'REGISTER'), [
        ['alice', 'alice', 'SUCCESS'],
        [null, 'alice', 'REFUSED'],
        [null, 'alice', 'REFUSED'],
      ])
    })

    test('has a row for a passkey registration or removal that failed', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const client = await startPasskeyClient(api)
      await client.register(token, { origin: 'https://evil.example' })
      await client.register(token)
      await client.register(token)
      await api.delete('/webauthn/register/AAAA', { token, headers: client.headers })

      assert.deepEqual(await rowsOf(api, 'PASSKEY_ADDED'), [
        ['alice', 'alice', 'REFUSED'],
        ['alice', 'alice', 'SUCCESS'],
        ['alice', 'alice', 'REFUSED'],
      ])
      assert.deepEqual(await rowsOf(api, 'PASSKEY_REMOVED'), [['alice', 'alice', 'REFUSED']])
    })

    test('has a row for each wrong code from a mail, with the user whose code it was', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const { email } = ALICE
      const newEmail = 'new@example.com'
      await mailTo(api, email, 'verify-email')
      await api.post('/api/auth/password-reset', { email })
      await mailTo(api, email, 'password-reset')
      await api.post('/api/users/me/email', { newEmail }, { token })
      await mailTo(api, newEmail, 'email-change')
      const guess = async (path: string, to: string) => {
        const body = { email: to, code: 'wrong', newPassword: 'an entirely new password' }
        assert.equal((await api.post(path, body)).body.code, 'TOKEN_INVALID')
      }

      await guess('/api/auth/verify-email', email)
      await guess('/api/auth/verify-email', 'stranger@example.com')
      await guess('/api/auth/password-reset/confirm', email)
      await guess('/api/auth/password-reset/confirm', 'stranger@example.com')
      await guess('/api/users/me/email/confirm', newEmail)
      await guess('/api/users/me/email/confirm', email)

      const rows = [
        [null, 'alice', 'REFUSED'],
        [null, null, 'REFUSED'],
      ]
      assert.deepEqual(await rowsOf(api, 'EMAIL_VERIFIED'), rows)
      assert.deepEqual(await rowsOf(api, 'PASSWORD_RESET'), rows)
      assert.deepEqual(await rowsOf(api, 'EMAIL_CHANGED'), rows)
    })

    test('is for administrators only', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })

      assert.equal((await api.get('/api/audit')).status, 401)
      assert.equal((await api.get('/api/audit', { token })).status, 403)
    })
  })

  describe(
    `the number of audit rows one caller can cause on ${engine.name}`,
    engine.options,
    () => {
      const env = { IDENTITY_FAILURE_LIMIT: '2' }

      test('is one per name and window for logins answered 429', async (t) => {
        const { api, clock } = await startWithAlice(t, { engine, env })
        const fail = async (username: string) => {
          const attempt = () => api.post('/api/auth/login', { username, password: 'wrong' })
          for (let n = 0; n < 4; n += 1) await attempt()
          const { status } = await attempt()
          assert.equal(status, 429)
        }
        await fail('alice')
        await fail('no such user')
        clock.advance(3600)
        await fail('alice')

        const refused = (await rowsOf(api, 'LOGIN')).filter(([, , result]) => result !== 'SUCCESS')
        assert.deepEqual(refused, [
          [null, 'alice', 'REFUSED'],
          [null, 'alice', 'REFUSED'],
          [null, 'alice', 'THROTTLED'],
          [null, null, 'REFUSED'],
          [null, null, 'REFUSED'],
          [null, null, 'THROTTLED'],
          [null, 'alice', 'REFUSED'],
          [null, 'alice', 'REFUSED'],
          [null, 'alice', 'THROTTLED'],
        ])
      })

      test('is one for many logins answered 429 at once', async (t) => {
        const { api } = await startWithAlice(t, { engine, env })
        const attempt = () => api.post('/api/auth/login', { ...ALICE, password: 'wrong' })
        await attempt()
        await attempt()

        const replies = await Promise.all(Array.from({ length: 20 }, attempt))

        assert.ok(replies.every(({ status }) => status === 429))
        const rows = await rowsOf(api, 'LOGIN')
        assert.equal(rows.filter(([, , result]) => result === 'THROTTLED').length, 1)
      })

      test('is one for guesses at the current password answered 429', async (t) => {
        const { api, token } = await startWithAlice(t, { engine, env })
        const guess = { currentPassword: 'guess', newPassword: 'a wholly new password' }
        for (let n = 0; n < 5; n += 1) await api.post('/api/users/me/password', guess, { token })

        assert.deepEqual(await rowsOf(api, 'PASSWORD_CHANGED'), [
          ['alice', 'alice', 'REFUSED'],
          ['alice', 'alice', 'REFUSED'],
          ['alice', 'alice', 'THROTTLED'],
        ])
      })

      const repeated: Record<string, (alice: Alice) => Promise<unknown>> = {
        REFRESH: ({ api }) => api.post('/api/auth/refresh', { refreshToken: 'made up' }),
        REFRESH_REPLAYED: ({ api, pair }) =>
          api.post('/api/auth/refresh', { refreshToken: pair.refreshToken }),
        ACCESS_DENIED: ({ api, token }) => api.get('/api/users', { token }),
        REGISTER: ({ api }) => api.post('/api/auth/register', ALICE),
        PASSKEY_ADDED: async ({ api, token }) =>
          (await startPasskeyClient(api)).register(token, { rpId: 'evil.example' }),
        PASSKEY_USED: async ({ api }) => (await startPasskeyClient(api)).logIn(),
        REAUTHENTICATED: ({ api, token }) =>
          api.post('/api/auth/reauthenticate', { passkey: {} }, { token }),
        PASSWORD_RESET: ({ api }) =>
          api.post('/api/auth/password-reset/confirm', {
            email: `${randomUUID()}@example.com`,
            code: 'wrong',
            newPassword: 'an entirely new password',
          }),
        PASSKEY_REMOVED: async ({ api, token }) => {
          const { headers } = await startPasskeyClient(api)
          await api.delete('/webauthn/register/AAAA', { token, headers })
        },
      }
      for (const [event, repeat] of Object.entries(repeated)) {
        test(`is limited for a repeated ${event}, and the last row of an hour says THROTTLED`, async (t) => {
          const alice = await startWithAlice(t, { engine, env })
          const { api, clock, pair } = alice
          await api.post('/api/auth/refresh', { refreshToken: pair.refreshToken })
          for (let n = 0; n < 6; n += 1) await repeat(alice)
          const results = async () => {
            const rows = await rowsOf(api, event)
            return rows.map(([, , result]) => result).filter((result) => result !== 'SUCCESS')
          }

          assert.deepEqual(await results(), ['REFUSED', 'REFUSED', 'THROTTLED'])
          clock.advance(3600)
          const { body: again } = await api.post('/api/auth/login', ALICE)
          await repeat({ ...alice, token: again.accessToken })
          assert.deepEqual(await results(), ['REFUSED', 'REFUSED', 'THROTTLED', 'REFUSED'])
        })
      }
    },
  )
}
