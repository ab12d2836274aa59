import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import type { TestEngine } from '@plinth/kit/testing'
import { until } from '../../../test/until.ts'
import { commandLine } from './command-line.ts'
import { mailTo, tokenOf } from './inbox.ts'
import { ALICE, adminToken, engines, startIdentity, startWithAlice } from './start-identity.ts'

// A blank setting counts as absent. Production does not allow the cheap hashing of the tests.
const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
}
const COMMON = 'QwertyAsdfgh'
const GUESSABLE = 'password: must not be the username or the e-mail address'
const TRIED_FIRST = 'password: is one that everybody tries first'

/** A service, and a function that registers a new name from a given client address. */
async function startRegistering(
  t: TestContext,
  engine: TestEngine,
  given: Record<string, string> = {},
) {
  const env = { IDENTITY_TRUSTED_PROXIES: 'loopback', ...given }
  const started = await startIdentity(t, { engine, env })
  let count = 0
  const register = (address: string, changes: object = {}) => {
    count += 1
    const body = { ...ALICE, username: `user-${count}`, email: `user-${count}@localhost` }
    const headers = { 'x-forwarded-for': address, 'x-forwarded-proto': 'https' }
    return started.api.post('/api/auth/register', { ...body, ...changes }, { headers })
  }
  return { ...started, register }
}

const GERMAN = { headers: { 'accept-language': 'de' } }

for (const engine of engines) {
  describe(`registrations of one network on ${engine.name}`, engine.options, () => {
    test('are limited per hour, including those of taken names, without affecting other networks', async (t) => {
      const env = { IDENTITY_REGISTRATIONS_PER_HOUR: '3' }
      const { register, clock } = await startRegistering(t, engine, env)
      const taken = { username: 'admin' }
      const first = [await register('192.0.2.1'), await register('192.0.2.1', taken)]
      clock.advance(60)

      const last = await register('192.0.2.1')
      const refused = await register('192.0.2.1')
      const other = await register('192.0.2.2')
      clock.advance(3540)
      const later = await register('192.0.2.1')

      assert.deepEqual(
        [...first, last, refused, other, later].map(({ status }) => status),
        [201, 409, 201, 429, 201, 201],
      )
      assert.equal(refused.body.code, 'TOO_MANY_ATTEMPTS')
      assert.equal(refused.headers.get('retry-after'), '3540')
    })

    test('are limited in parallel as they are one after another', async (t) => {
      const env = { IDENTITY_REGISTRATIONS_PER_HOUR: '3' }
      const { register } = await startRegistering(t, engine, env)

      const replies = await Promise.all(Array.from({ length: 12 }, () => register('192.0.2.1')))

      assert.equal(replies.filter(({ status }) => status === 201).length, 3)
      assert.equal(replies.filter(({ status }) => status === 429).length, 9)
    })

    test('are not limited in development', async (t) => {
      const { register, config } = await startRegistering(t, engine)

      for (let n = 0; n < 120; n += 1) assert.equal((await register('192.0.2.1')).status, 201)
      assert.equal(config.accounts.registration.perHour, 0)
    })
  })

  describe(`closed registration on ${engine.name}`, engine.options, () => {
    test('is 403 for any body; the command line still creates accounts', async (t) => {
      const env = { IDENTITY_REGISTRATION: 'closed' }
      const { api, config } = await startIdentity(t, { engine, env })
      const run = commandLine(config.databaseUrl, env)

      const refused = await api.post('/api/auth/register', ALICE)
      const invalid = await api.post('/api/auth/register', {})
      const { stdout } = await run('user', 'create', 'carol', 'carol@localhost')

      for (const { status, body } of [refused, invalid])
        assert.deepEqual([status, body.code], [403, 'REGISTRATION_CLOSED'])
      const password = stdout.trim()
      const login = await api.post('/api/auth/login', { username: 'carol', password })
      assert.equal(login.status, 200)
    })
  })

  describe(`a registration that must be confirmed on ${engine.name}`, engine.options, () => {
    const env = { IDENTITY_REGISTRATION: 'confirm' }
    const start = async (t: TestContext) => {
      const { api, clock } = await startIdentity(t, { engine, env })
      return {
        api,
        clock,
        register: (changes: object = {}) =>
          api.post('/api/auth/register', { ...ALICE, ...changes }, GERMAN),
        verify: (proof: object) => api.post('/api/auth/verify-email', proof),
        logIn: async () => (await api.post('/api/auth/login', ALICE)).status,
      }
    }

    test('is announced to the console, which must not promise a sign-in', async (t) => {
      const { api } = await startIdentity(t, { engine, env })
      const open = await startIdentity(t, { engine })

      const byMail = async ({ get }: typeof api) =>
        (await get('/api-test/facts.json')).body.registrationByMail
      assert.deepEqual([await byMail(api), await byMail(open.api)], [true, false])
    })

    test('is no account until confirmed; a known address gets the same reply, and its owner a notice', async (t) => {
      const { api, register, verify, logIn } = await start(t)
      const seen = ({ status, headers, body }: Awaited<ReturnType<typeof register>>) => ({
        status,
        names: [...headers.keys()].sort(),
        body,
      })

      const fresh = seen(await register())
      const known = seen(await register({ username: 'other', email: 'Admin@example.com' }))
      const sameName = seen(await register({ email: 'second@example.com' }))

      assert.equal(fresh.status, 202)
      assert.deepEqual([known, sameName], [fresh, fresh])
      assert.equal(await logIn(), 401)
      const notice = await mailTo(api, 'admin@example.com', 'already-registered')
      assert.equal(notice.code, null)
      assert.match(notice.text, /^Hello,/)
      const mail = await mailTo(api, ALICE.email, 'verify-email')
      assert.match(mail.text, /wurde am 1\. Januar 2030 um 00:00 UTC registriert\./)
      const token = tokenOf(mail)
      const second = tokenOf(await mailTo(api, 'second@example.com', 'verify-email'))
      const pending = await api.post('/api/auth/verify-email/pending', { token })
      assert.deepEqual([pending.body.username, pending.body.email], ['alice', ALICE.email])
      assert.equal(await logIn(), 401)

      const confirmed = await Promise.all(Array.from({ length: 10 }, () => verify({ token })))
      assert.deepEqual(new Set(confirmed.map(({ status }) => status)), new Set([204]))
      assert.equal(await logIn(), 200)
      const { body: pair } = await api.post('/api/auth/login', ALICE)
      const security = await api.get('/api/users/me/security', { token: pair.accessToken })
      assert.equal(security.body.emailVerified, true)
      const taken = await verify({ token: second })
      assert.deepEqual([taken.status, taken.body.code], [409, 'USERNAME_ALREADY_EXISTS'])
      assert.equal((await register({ email: 'third@example.com' })).status, 409)
      assert.deepEqual(seen(await register({ username: 'alice-2' })), fresh)
    })

    test('is confirmed by code, mailed again on request, and discarded by "this was not me"', async (t) => {
      const { api, clock, register, verify, logIn } = await start(t)
      await register()
      const first = await mailTo(api, ALICE.email, 'verify-email')
      clock.advance(61)
      await api.post('/api/auth/verify-email/resend', { email: ALICE.email })
      const second = await mailTo(api, ALICE.email, 'verify-email', 2)
      assert.equal((await verify({ token: tokenOf(first) })).status, 400)
      const usedAt = clock().toISOString()
      for (let times = 0; times < 2; times += 1)
        assert.equal((await verify({ email: ALICE.email, code: second.code })).status, 204)
      assert.equal(await logIn(), 200)
      const stateOf = async (token: string) =>
        (await api.post('/api/auth/links/state', { token })).body
      assert.deepEqual(await stateOf(tokenOf(first)), { state: 'unknown', at: null })
      assert.deepEqual(await stateOf(tokenOf(second)), { state: 'used', at: usedAt })

      const bob = { username: 'bob', email: 'bob@example.com' }
      await register(bob)
      const token = tokenOf(await mailTo(api, bob.email, 'verify-email'))
      assert.equal((await api.post('/api/auth/not-me', { token })).status, 204)
      assert.equal((await verify({ token })).status, 400)

      await register({ username: 'carol', email: 'carol@example.com' })
      const late = tokenOf(await mailTo(api, 'carol@example.com', 'verify-email'))
      clock.advance(24 * 3600)
      assert.equal((await verify({ token: late })).status, 400)
    })

    test('accepts neither password if someone else has registered the same address', async (t) => {
      const { api, clock, register, verify } = await start(t)
      const thief = { password: 'the password of a thief' }
      const settled = async () => {
        const token = await adminToken(api)
        await until(
          () => api.get('/api/mail?size=100', { token }),
          ({ body }) => body.content.every(({ state }: { state: string }) => state !== 'queued'),
        )
      }
      const cases = {
        // The second mail exceeds the limit of the address, was sent, or is not prepared yet.
        limited: settled,
        mailed: async (email: string) => {
          await settled()
          clock.advance(61)
          await register({ username: 'mailed', email })
          await mailTo(api, email, 'verify-email', 2)
        },
        waiting: async () => {},
      }
      for (const [username, then] of Object.entries(cases)) {
        const email = `${username}@example.com`
        await register({ username, email, ...thief })
        await mailTo(api, email, 'verify-email')
        await register({ username, email })
        await then(email)
        const token = tokenOf(await mailTo(api, email, 'verify-email'))
        assert.equal((await verify({ token })).status, 204, username)

        for (const { password } of [thief, ALICE])
          assert.equal((await api.post('/api/auth/login', { username, password })).status, 401)
        const choose = await mailTo(api, email, 'registered-twice')
        assert.match(choose.text, /none of the passwords from then works/)
        const chosen = tokenOf(choose)
        const reset = { token: chosen, newPassword: 'a password of my own' }
        assert.equal((await api.post('/api/auth/password-reset/confirm', reset)).status, 204)
        const own = { username, password: reset.newPassword }
        assert.equal((await api.post('/api/auth/login', own)).status, 200)
      }
    })

    test("is 400 for an invalid value, including someone else's address as the username", async (t) => {
      const { register } = await start(t)

      for (const changes of [
        { email: ' ' },
        { password: 'short' },
        { username: 'bob@example.com' },
        { username: 'user 5' },
      ])
        assert.equal((await register(changes)).status, 400)
      assert.equal((await register({ username: ALICE.email })).status, 202)
      const names = { username: 'admin@example.com', email: 'admin@example.com' }
      assert.equal((await register(names)).status, 202)
    })
  })

  describe(`a password on ${engine.name}`, engine.options, () => {
    const identities = [
      ['the username', { username: 'Alice-Of-London', password: 'alice-of-LONDON' }],
      ['the address', { email: 'alice@example.com', password: 'Alice@Example.com' }],
      ['its local part', { email: 'alice.of.london@a.example', password: 'ALICE.of.london' }],
      [
        'the username in full-width letters',
        { username: 'alice-london', password: 'ａlice-london' },
      ],
    ] as const
    for (const [name, changes] of identities)
      test(`that is ${name} is refused`, async (t) => {
        const { api } = await startIdentity(t, { engine })

        const { status, body } = await api.post('/api/auth/register', { ...ALICE, ...changes })

        assert.deepEqual([status, body.errors], [400, [GUESSABLE]])
      })

    test('cannot be changed to the address', async (t) => {
      const { api, token } = await startWithAlice(t, { engine })
      const change = { currentPassword: ALICE.password, newPassword: ALICE.email }

      const { status, body } = await api.post('/api/users/me/password', change, { token })

      assert.deepEqual([status, body.errors], [400, [`newP${GUESSABLE.slice(1)}`]])
      assert.equal((await api.post('/api/auth/login', ALICE)).status, 200)
    })
  })
}

describe('a common password', () => {
  const [engine] = engines as [TestEngine]

  test('is accepted in development, and refused if the setting says so', async (t) => {
    const { register } = await startRegistering(t, engine)
    const strict = await startRegistering(t, engine, { IDENTITY_COMMON_PASSWORDS: 'refuse' })

    const accepted = await register('192.0.2.1', { password: COMMON })
    const refused = await strict.register('192.0.2.1', { password: COMMON })
    const other = await strict.register('192.0.2.1')

    assert.deepEqual([accepted.status, other.status], [201, 201])
    assert.deepEqual([refused.status, refused.body.errors], [400, [TRIED_FIRST]])
  })

  test('is refused in production, which also limits registrations', async (t) => {
    const { register, config } = await startRegistering(t, engine, PRODUCTION)

    const refused = await register('192.0.2.1', { password: COMMON })

    assert.deepEqual([refused.status, refused.body.errors], [400, [TRIED_FIRST]])
    assert.equal(config.accounts.registration.perHour, 100)
  })
})

test('a registration that must be confirmed is 503 in production without a mail server', async (t) => {
  const env = { ...PRODUCTION, IDENTITY_REGISTRATION: 'confirm' }
  const { api } = await startIdentity(t, { env })

  const { status, body } = await api.post('/api/auth/register', ALICE)

  assert.deepEqual([status, body.code], [503, 'MAIL_NOT_CONFIGURED'])
})
