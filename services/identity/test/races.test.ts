import assert from 'node:assert/strict'
import { once } from 'node:events'
import { type IncomingMessage, request } from 'node:http'
import { describe, type TestContext, test } from 'node:test'
import { type Api, type TestEngine, testClock } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, bothEngines, startIdentity, startWithAlice } from './start-identity.ts'

const ROUNDS = 15

/** Two nodes on one database, with alice registered. */
async function startNodes(t: TestContext, engine: TestEngine) {
  const clock = testClock()
  const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
  const one = await startWithAlice(t, { engine, clock, env })
  const two = await startIdentity(t, { engine, clock, env })
  return { one: one.api, two: two.api, userId: one.userId }
}

const logIn = async (api: Api, password = ALICE.password) =>
  api.post('/api/auth/login', { ...ALICE, password })
const refresh = async (api: Api, refreshToken: string) =>
  api.post('/api/auth/refresh', { refreshToken })

/** Sends the headers now. The returned function sends the body and returns the status. */
async function hold(
  baseUrl: string,
  [method, path, body]: [string, string, object],
  token: string,
) {
  const text = JSON.stringify(body)
  const headers = {
    authorization: `Bearer ${token}`,
    'content-type': 'application/json',
    'content-length': text.length,
  }
  const held = request(`${baseUrl}${path}`, { method, headers })
  held.flushHeaders()
  await once(held, 'socket')
  return async () => {
    const answered = once(held, 'response')
    held.end(text)
    const [reply] = (await answered) as [IncomingMessage]
    reply.resume()
    return reply.statusCode
  }
}

const postgres = bothEngines.find(({ name }) => name === 'postgres') as TestEngine

describe('three nodes that start together on an empty PostgreSQL', { skip: postgres.skip }, () => {
  test('agree on the demo accounts and on one signing key, even on different ports', async (t) => {
    const env = { IDENTITY_DATABASE_URL: await postgres.freshUrl(t) }

    const ports = ['8081', '9081', '9082']
    const nodes = await Promise.all(
      ports.map((port) => startIdentity(t, { env: { ...env, IDENTITY_PORT: port } })),
    )

    const keySets = await Promise.all(nodes.map(({ api }) => api.get('/.well-known/jwks.json')))
    for (const { body } of keySets) assert.deepEqual(body, keySets[0]?.body)
    const [first, ...others] = nodes.map(({ api }) => api)
    const token = await adminToken(first as Api)
    const { body: users } = await (first as Api).get('/api/users', { token })
    assert.equal(users.totalElements, 2)
    for (const api of others) assert.equal((await api.get('/api/users/me', { token })).status, 200)
  })
})

for (const engine of bothEngines) {
  describe(`a body that arrives late on ${engine.name}`, engine.options, () => {
    test('changes nothing if the session has ended or the role was removed', async (t) => {
      const { api, baseUrl, token, userId } = await startWithAlice(t, { engine })
      const admin = await adminToken(api)
      const setRoles = (roles: string[]) =>
        api.patch(`/api/users/${userId}`, { roles }, { token: admin })
      await setRoles(['ROLE_USER', 'ROLE_ADMIN'])
      const newUser = { username: 'mallory', email: 'mallory@example.com', roles: ['ROLE_ADMIN'] }
      const newKey = { name: 'mallory', scopes: ['users:write'] }
      const held = await Promise.all(
        (
          [
            ['PATCH', '/api/users/2', { roles: ['ROLE_ADMIN'] }],
            ['POST', '/api/users', newUser],
            ['POST', '/api/service-keys', newKey],
          ] as [string, string, object][]
        ).map((each) => hold(baseUrl, each, token)),
      )
      const own = await Promise.all(
        (
          [
            ['POST', '/api/users/me/email', { newEmail: 'mallory@example.com' }],
            ['POST', '/api/users/me/export/file', {}],
          ] as [string, string, object][]
        ).map((each) => hold(baseUrl, each, token)),
      )
      // Answered after the held requests have passed their guards.
      await api.get('/api/users', { token })

      await setRoles(['ROLE_USER'])
      assert.deepEqual(await Promise.all(held.map((send) => send())), [403, 403, 403])
      const { body: owner } = await logIn(api)
      const change = { currentPassword: ALICE.password, newPassword: 'another good password' }
      await api.post('/api/users/me/password', change, { token: owner.accessToken })
      assert.deepEqual(await Promise.all(own.map((send) => send())), [401, 401])

      const { body: users } = await api.get('/api/users', { token: admin })
      const admins = users.content.filter(({ roles }: { roles: string[] }) =>
        roles.includes('ROLE_ADMIN'),
      )
      assert.deepEqual([users.totalElements, admins.length], [3, 1])
      assert.deepEqual((await api.get('/api/service-keys', { token: admin })).body, [])
      const { body: mails } = await api.get('/api/mail?size=100', { token: admin })
      const toMallory = mails.content.filter(({ to }: { to: string }) => to.startsWith('mallory'))
      assert.deepEqual(toMallory, [])
    })
  })

  describe(`races on two nodes of ${engine.name}`, engine.options, () => {
    test('exactly one of many refreshes with the same token succeeds, on either node', async (t) => {
      const { one, two } = await startNodes(t, engine)
      let { refreshToken } = (await logIn(one)).body
      for (let round = 0; round < ROUNDS; round += 1) {
        const apis = Array.from({ length: 10 }, (_, n) => (n % 2 === 0 ? one : two))

        const replies = await Promise.all(apis.map((api) => refresh(api, refreshToken)))

        const winners = replies.filter(({ status }) => status === 200)
        assert.equal(winners.length, 1)
        assert.equal(replies.filter(({ status }) => status === 401).length, 9)
        refreshToken = winners[0]?.body.refreshToken
      }
    })

    test('a refresh token used on one node is refused by the other at once', async (t) => {
      const { one, two } = await startNodes(t, engine)
      const { body: pair } = await logIn(one)
      await refresh(one, pair.refreshToken)

      assert.equal((await refresh(two, pair.refreshToken)).status, 401)
      const me = await two.get('/api/users/me', { token: pair.accessToken })
      assert.equal(me.status, 200)
    })

    test('a session that is ended during its refresh has no valid token', async (t) => {
      const { one, two } = await startNodes(t, engine)
      for (let round = 0; round < ROUNDS; round += 1) {
        const { body: pair } = await logIn(one)
        const token = pair.accessToken
        const { body: sessions } = await one.get('/api/users/me/sessions', { token })
        const { id } = sessions.find(({ current }: { current: boolean }) => current)

        const [refreshed, ended] = await Promise.all([
          refresh(one, pair.refreshToken),
          two.delete(`/api/users/me/sessions/${id}`, { token }),
        ])

        assert.equal(ended.status, 204)
        const last = refreshed.body.refreshToken ?? pair.refreshToken
        assert.equal((await refresh(two, last)).status, 401)
      }
    })

    test('an administrator who is disabled during a request creates and grants nothing afterwards', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const admin = { token: await adminToken(api) }
      const change = (body: object) => api.patch(`/api/users/${userId}`, body, admin)
      await change({ roles: ['ROLE_USER', 'ROLE_ADMIN'] })

      for (let round = 0; round < 5; round++) {
        const { body: pair } = await logIn(api)
        const own = { token: pair.accessToken }
        const name = `mallory${round}`
        const user = { username: name, email: `${name}@example.com`, roles: ['ROLE_ADMIN'] }
        await Promise.all([
          api.post('/api/users', user, own),
          api.post('/api/service-keys', { name, scopes: ['users:write'] }, own),
          change({ enabled: false }),
          api.patch('/api/users/2', { roles: round % 2 === 0 ? ['ROLE_ADMIN'] : [] }, own),
        ])
        await change({ enabled: true })
      }

      const { body } = await api.get('/api/audit?user=alice&size=100&sort=id,asc', admin)
      let isEnabled = true
      for (const { event, actor } of body.content as Record<string, string>[]) {
        if (event === 'USER_ENABLED' || event === 'USER_DISABLED') isEnabled = !isEnabled
        const creates =
          actor === 'alice' && /^((USER|SERVICE_KEY)_CREATED|ROLES_CHANGED)$/.test(event ?? '')
        assert.ok(!creates || isEnabled, `${event} by a disabled administrator`)
      }
    })

    test('an administrator whose sessions are ended during a request grants nothing afterwards', async (t) => {
      const { api, userId } = await startWithAlice(t, { engine })
      const admin = { token: await adminToken(api) }
      const roles = ['ROLE_USER', 'ROLE_ADMIN']
      await api.patch(`/api/users/${userId}`, { roles }, admin)
      const from = (await api.get('/api/audit?user=alice', admin)).body.totalElements

      for (let round = 0; round < 5; round += 1) {
        const { accessToken: token } = (await logIn(api)).body
        await Promise.all([
          api.deleteWith(`/api/users/${userId}/sessions`, { reason: 'a stolen device' }, admin),
          ...Array.from({ length: 6 }, (_, n) =>
            api.patch('/api/users/2', { roles: n % 2 === 0 ? roles : [] }, { token }),
          ),
        ])
      }

      const { body } = await api.get('/api/audit?user=alice&size=100&sort=id,asc', admin)
      const rows = body.content.slice(from) as Record<string, string>[]
      let isSignedIn = false
      let ends = 0
      for (const { event, actor } of rows) {
        if (event === 'LOGIN') isSignedIn = true
        if (event !== 'SESSION_REVOKED') assert.ok(isSignedIn || actor !== 'alice', String(event))
        else [isSignedIn, ends] = [false, ends + 1]
      }
      assert.equal(ends, 5)
    })

    test('a user who is disabled during a login or refresh has no valid token', async (t) => {
      const { one, two, userId } = await startNodes(t, engine)
      const token = await adminToken(one)
      const setEnabled = (enabled: boolean) =>
        two.patch(`/api/users/${userId}`, { enabled }, { token })
      for (let round = 0; round < ROUNDS; round += 1) {
        const { body: pair } = await logIn(one)

        const [loggedIn, refreshed] = await Promise.all([
          logIn(one),
          refresh(one, pair.refreshToken),
          setEnabled(false),
        ])
        await setEnabled(true)

        for (const { body } of [loggedIn, refreshed])
          if (body.refreshToken) assert.equal((await refresh(two, body.refreshToken)).status, 401)
      }
    })

    test('a login with the old password during a password change leaves no valid session', async (t) => {
      const { one, two } = await startNodes(t, engine)
      const passwords = [ALICE.password, 'another good password']
      for (let round = 0; round < ROUNDS; round += 1) {
        const [currentPassword = '', newPassword = ''] = passwords
        const { body: pair } = await logIn(two, currentPassword)
        const change = { currentPassword, newPassword }

        const [changed, ...attempts] = await Promise.all([
          two.post('/api/users/me/password', change, { token: pair.accessToken }),
          logIn(one, currentPassword),
          logIn(two, currentPassword),
          logIn(one, currentPassword),
        ])

        assert.equal(changed.status, 204)
        for (const { body } of attempts)
          if (body.refreshToken) assert.equal((await refresh(one, body.refreshToken)).status, 401)
        passwords.reverse()
      }
    })

    test('a password change during the refresh of another session ends that session only', async (t) => {
      const { one, two } = await startNodes(t, engine)
      const passwords = [ALICE.password, 'another good password']
      for (let round = 0; round < ROUNDS; round += 1) {
        const [currentPassword = '', newPassword = ''] = passwords
        const { body: own } = await logIn(two, currentPassword)
        const { body: other } = await logIn(one, currentPassword)
        const change = { currentPassword, newPassword }

        const [changed, refreshed, kept] = await Promise.all([
          two.post('/api/users/me/password', change, { token: own.accessToken }),
          refresh(one, other.refreshToken),
          refresh(one, own.refreshToken),
        ])

        assert.deepEqual([changed.status, kept.status], [204, 200])
        const last = refreshed.body.refreshToken ?? other.refreshToken
        assert.equal((await refresh(two, last)).status, 401)
        assert.equal((await refresh(two, kept.body.refreshToken)).status, 200)
        passwords.reverse()
      }
    })

    test('a login with an expired password during its reset gets no token that works', async (t) => {
      const { one, two, userId } = await startNodes(t, engine)
      const token = await adminToken(one)
      const passwords = [ALICE.password, 'another good password']
      const choose = async (api: Api, body: object) =>
        (await api.post('/api/auth/password-reset/confirm', body)).status
      for (let round = 0; round < 5; round += 1) {
        const [expired = '', newPassword = ''] = passwords
        const reason = { reason: 'seen in a leak' }
        await one.post(`/api/users/${userId}/require-password-change`, reason, { token })
        const { body } = await logIn(one, expired)

        const [chosen, ...attempts] = await Promise.all([
          choose(one, { token: body.token, newPassword }),
          logIn(one, expired),
          logIn(two, expired),
          logIn(two, expired),
        ])

        const others = attempts.map((reply) => reply.body.token).filter(Boolean)
        const later = await Promise.all(
          others.map((given) => choose(two, { token: given, newPassword })),
        )
        // A login before the reset replaces its token; a login after it must not issue another one.
        assert.equal([chosen, ...later].filter((status) => status === 204).length, 1)
        assert.equal((await logIn(two, newPassword)).status, 200)
        passwords.reverse()
      }
    })

    test('no login succeeds once a new password is required', async (t) => {
      const { one, two, userId } = await startNodes(t, engine)
      const token = await adminToken(one)
      const reason = { reason: 'seen in a leak' }

      const [required] = await Promise.all([
        one.post(`/api/users/${userId}/require-password-change`, reason, { token }),
        ...[one, two, one, two, one, two, one, two].map((api) => logIn(api)),
      ])

      assert.equal(required.status, 204)
      const { body } = await two.get('/api/audit?user=alice&size=100&sort=id,desc', { token })
      type Row = { event: string; result: string }
      const rows = body.content as Row[]
      const since = rows.findIndex(({ event }) => event === 'PASSWORD_EXPIRED')
      const isLogin = ({ event, result }: Row) => event === 'LOGIN' && result === 'SUCCESS'
      assert.deepEqual([since >= 0, rows.slice(0, since).filter(isLogin)], [true, []])
    })

    test('an export and a passkey login during the erasure of the account fail as after it', async (t) => {
      const env = { IDENTITY_DELETION_GRACE_DAYS: '0' }
      const { api } = await startIdentity(t, { engine, env })
      const token = await adminToken(api)
      const reason = { reason: 'asked for' }
      for (let round = 0; round < 2; round++) {
        const bob = { username: `bob${round}`, email: `bob${round}@localhost` }
        const { body } = await api.post('/api/auth/register', { ...ALICE, ...bob })
        const signedIn = await api.post('/api/auth/login', { ...ALICE, ...bob })
        const passkeys = await startPasskeyClient(api)
        await passkeys.register(signedIn.body.accessToken)
        const path = `/api/users/${body.id}`
        let erased = false
        const repeat = async (call: () => Promise<{ status: number }>) => {
          const statuses: number[] = []
          while (!erased) statuses.push((await call()).status)
          return new Set([...statuses, (await call()).status])
        }
        const exports = Array.from({ length: 3 }, () =>
          repeat(() => api.post(`${path}/export`, reason, { token })),
        )
        const logins = Array.from({ length: 3 }, () => repeat(() => passkeys.logIn()))

        await api.request('DELETE', path, {
          token,
          headers: { 'content-type': 'application/json' },
          body: JSON.stringify(reason),
        })
        await until(
          () => api.get(path, { token }),
          ({ status }) => status === 404,
        )
        erased = true

        for (const statuses of await Promise.all(exports))
          assert.deepEqual(statuses.difference(new Set([200, 404])), new Set())
        for (const statuses of await Promise.all(logins))
          assert.deepEqual(statuses.difference(new Set([200, 401])), new Set())
      }
    })

    test('exactly one of many registrations of a name on both nodes succeeds', async (t) => {
      const { one, two } = await startNodes(t, engine)
      const bob = { username: 'bob', email: 'bob@localhost', password: ALICE.password }

      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          (n % 2 === 0 ? one : two).post('/api/auth/register', bob),
        ),
      )

      const statuses = replies.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array(19).fill(409)])
    })
  })
}
