import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Api } from '@plinth/kit/testing'
import { startPasskeyClient } from './passkey-client.ts'
import { ALICE, adminToken, engines, sharedIdentity, startWithAlice } from './start-identity.ts'

const PASSWORD = ALICE.password

const postText = (api: Api, path: string, body: string) =>
  api.request('POST', path, { headers: { 'content-type': 'application/json' }, body })

for (const engine of engines) {
  describe(`a hostile body on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const alice = `"username":"alice","password":"${PASSWORD}"`
    const bodies: [name: string, body: string, status: number][] = [
      ['8,000 nested arrays', `${'['.repeat(8e3)}${']'.repeat(8e3)}`, 400],
      ['400,000 nested arrays', `${'['.repeat(4e5)}${']'.repeat(4e5)}`, 413],
      [
        '31 nested objects in an unknown member',
        `{${alice},"z":${'{"a":'.repeat(31)}1${'}'.repeat(31)}}`,
        200,
      ],
      [
        '32 nested objects in an unknown member',
        `{${alice},"z":${'{"a":'.repeat(32)}1${'}'.repeat(32)}}`,
        400,
      ],
      ['a duplicate member, of which the last counts', `{"password":"wrong",${alice}}`, 200],
      ['a poisoned prototype', `{"__proto__":{"roles":["ROLE_ADMIN"]},${alice}}`, 200],
      ['a poisoned constructor', `{"constructor":{"prototype":{"x":1}},${alice}}`, 200],
      [
        'a password that only the prototype has',
        `{"__proto__":{${alice}},"username":"alice"}`,
        400,
      ],
      ['a user named __proto__', `{"username":"__proto__","password":"x"}`, 401],
      ['a user named constructor', `{"username":"constructor","password":"x"}`, 401],
      ['over 16 KiB', `{${alice},"z":"${'x'.repeat(2 ** 14)}"}`, 413],
    ]
    for (const [name, body, status] of bodies) {
      test(`is ${status}: ${name}`, async () => {
        const { api } = identity()

        assert.equal((await postText(api, '/api/auth/login', body)).status, status)
        assert.equal(({} as { roles?: unknown }).roles, undefined)
      })
    }

    test('property names of Object.prototype are ordinary usernames', async () => {
      const { api } = identity()
      for (const username of ['__proto__', 'constructor', 'toString']) {
        const account = { username, email: `${username}@localhost`, password: PASSWORD }

        const { status, body } = await api.post('/api/auth/register', account)

        assert.deepEqual([status, body.username], [201, username.toLowerCase()])
        assert.equal((await api.post('/api/auth/login', account)).status, 200)
      }
      for (const sort of ['__proto__', 'constructor,desc', 'toString']) {
        const token = await adminToken(api)
        assert.equal((await api.get(`/api/users?sort=${sort}`, { token })).status, 400)
      }
    })

    // Each of these once took quadratic time. This is the longest that the body limit lets through.
    const LONG = 7_000
    const accents = `a${'\u0301\u0316'.repeat(LONG / 2)}`
    const slow: [name: string, send: (api: Api, token: string) => Promise<{ status: number }>][] = [
      ['a label', (api, token) => addPasskey(api, token, `${'x'.repeat(LONG)}\u0000`)],
      ['a username', (api) => api.post('/api/auth/login', { username: accents, password: 'x' })],
      ['a password', (api) => api.post('/api/auth/login', { ...ALICE, password: accents })],
      ['a new name', (api) => api.post('/api/auth/register', { ...ALICE, username: accents })],
      ['an address', (api) => api.post('/api/auth/register', { ...ALICE, email: `${accents}@b` })],
    ]
    for (const [name, send] of slow) {
      test(`does not block the service with ${name} of 7,000 characters`, async () => {
        const { api, token } = identity()
        const before = performance.now()

        const { status } = await send(api, token)

        assert.ok([400, 401].includes(status))
        assert.ok(performance.now() - before < 20_000)
      })
    }
  })

  describe(`a clock that is set back on ${engine.name}`, engine.options, () => {
    const EARLIER = new Date('2029-01-01T00:00:00.000Z')

    test('does not stop users from logging in, refreshing and using passkeys', async (t) => {
      const { api, clock, pair } = await startWithAlice(t, { engine })
      clock.set(EARLIER)

      const { status, body } = await api.post('/api/auth/login', ALICE)
      const { refreshToken } = pair
      const refreshed = await api.post('/api/auth/refresh', { refreshToken })
      const client = await startPasskeyClient(api)
      const added = await client.register(body.accessToken)
      const entered = await client.logIn()

      const replies = [status, refreshed.status, added.status, entered.status]
      assert.deepEqual(replies, [200, 200, 200, 200])
      assert.equal((await api.post('/api/auth/refresh', { refreshToken })).status, 401)
    })

    test('does not rate limit a caller until the old time is reached again', async (t) => {
      const env = { IDENTITY_FAILURE_LIMIT: '2' }
      const { api, clock } = await startWithAlice(t, { engine, env })
      const attempt = async (password: string) =>
        (await api.post('/api/auth/login', { ...ALICE, password })).status
      assert.deepEqual(
        [await attempt('wrong'), await attempt('wrong'), await attempt(PASSWORD)],
        [401, 401, 429],
      )

      clock.set(EARLIER)

      assert.deepEqual([await attempt('wrong'), await attempt(PASSWORD)], [401, 200])
    })

    test('does not revive a rotated or revoked refresh token', async (t) => {
      const { api, clock, pair, token } = await startWithAlice(t, { engine })
      const refresh = (refreshToken: string) => api.post('/api/auth/refresh', { refreshToken })
      const { body: second } = await refresh(pair.refreshToken)
      await api.post('/api/auth/logout', { refreshToken: second.refreshToken }, { token })

      clock.set(EARLIER)

      assert.equal((await refresh(pair.refreshToken)).status, 401)
      assert.equal((await refresh(second.refreshToken)).status, 401)
    })
  })
}

async function addPasskey(api: Api, token: string, label: string) {
  const client = await startPasskeyClient(api)
  return client.register(token, {}, label)
}

test('a request target that cannot be decoded is 400 with the usual response headers', async (t) => {
  const { api } = await startWithAlice(t)

  for (const path of ['/%', '/api/users/%E0%A4%A']) {
    const { status, headers, body } = await api.get(path)

    assert.deepEqual([status, body.code], [400, 'MALFORMED_REQUEST'], path)
    assert.equal(headers.get('x-request-id'), body.requestId)
    assert.equal(headers.get('x-content-type-options'), 'nosniff')
    assert.equal(headers.get('cache-control'), 'no-store')
  }
})
