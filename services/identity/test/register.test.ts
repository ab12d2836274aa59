import assert from 'node:assert/strict'
import { rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { ALICE, engines, sharedIdentity, startIdentity } from './start-identity.ts'

/** The audit uses these names for others than users; the last ones only look the same. */
const RESERVED = [
  'command line',
  'settings',
  'delivery',
  'anyone',
  'user 5',
  'key-1',
  'key 3 (billing)',
  'http://localhost:8081#5',
  ' Command Line ',
  'command  line',
  'command\u00a0line',
  'ｃommand line',
  'USER 5',
  'user\u20035',
]

for (const engine of engines) {
  describe(`POST /api/auth/register on ${engine.name}`, engine.options, () => {
    test('creates an enabled user with ROLE_USER', async (t) => {
      const { api } = await startIdentity(t, { engine })

      const { status, body } = await api.post('/api/auth/register', ALICE)

      assert.equal(status, 201)
      const { id, message, ...rest } = body
      assert.ok(Number.isInteger(id))
      assert.equal(typeof message, 'string')
      assert.deepEqual(rest, {
        username: 'alice',
        email: 'alice@example.com',
        roles: ['ROLE_USER'],
        enabled: true,
      })
    })

    test('trims and lower-cases username and e-mail, when registered and when looked up', async (t) => {
      const { api } = await startIdentity(t, { engine })

      const registered = await api.post('/api/auth/register', {
        username: '  Alice ',
        email: ' Alice@Example.COM ',
        password: ALICE.password,
      })
      const login = await api.post('/api/auth/login', { ...ALICE, username: ' ALICE  ' })

      assert.equal(registered.body.username, 'alice')
      assert.equal(registered.body.email, 'alice@example.com')
      assert.equal(login.status, 200)
    })

    test('answers 409 for an identity that already exists, and reports the username first', async (t) => {
      const { api } = await startIdentity(t, { engine })
      await api.post('/api/auth/register', ALICE)
      const register = async (changes: object) => {
        const { status, body } = await api.post('/api/auth/register', { ...ALICE, ...changes })
        return [status, body.code]
      }

      assert.deepEqual(await register({}), [409, 'USERNAME_ALREADY_EXISTS'])
      assert.deepEqual(await register({ username: 'ALICE ' }), [409, 'USERNAME_ALREADY_EXISTS'])
      assert.deepEqual(await register({ username: 'other' }), [409, 'EMAIL_ALREADY_EXISTS'])
      assert.deepEqual(await register({ email: 'other@localhost' }), [
        409,
        'USERNAME_ALREADY_EXISTS',
      ])
    })

    test('creates exactly one user when 20 requests register the same name at once', async (t) => {
      const { api } = await startIdentity(t, { engine })

      const replies = await Promise.all(
        Array.from({ length: 20 }, (_, n) =>
          api.post('/api/auth/register', { ...ALICE, email: `alice${n}@example.com` }),
        ),
      )

      const statuses = replies.map(({ status }) => status).sort()
      assert.deepEqual(statuses, [201, ...Array(19).fill(409)])
    })

    test('ignores roles, state and id in the body', async (t) => {
      const { api } = await startIdentity(t, { engine })

      const { status, body } = await api.post('/api/auth/register', {
        ...ALICE,
        id: 1,
        roles: ['ROLE_ADMIN'],
        enabled: false,
        passwordHash: 'x',
      })

      assert.equal(status, 201)
      assert.notEqual(body.id, 1)
      assert.deepEqual(body.roles, ['ROLE_USER'])
      assert.equal(body.enabled, true)
    })

    test('distinguishes passwords that differ only after 72 bytes or in surrounding spaces', async (t) => {
      const { api } = await startIdentity(t, { engine })
      const password = ` ${'x'.repeat(100)} `
      await api.post('/api/auth/register', { ...ALICE, password })
      const logIn = async (typed: string) =>
        (await api.post('/api/auth/login', { username: 'alice', password: typed })).status

      assert.equal(await logIn(password), 200)
      assert.equal(await logIn(password.trim()), 401)
      assert.equal(await logIn(`${password}y`), 401)
    })

    test('treats composed and decomposed letters as the same name and address', async (t) => {
      const { api } = await startIdentity(t, { engine })
      const composed = { username: 'Andr\u00e9', email: 'andr\u00e9@localhost' }
      const decomposed = { username: 'andre\u0301', email: 'andre\u0301@localhost' }
      const { password } = ALICE
      const register = async (name: object) => {
        const { status, body } = await api.post('/api/auth/register', { ...name, password })
        return [status, body.code ?? body.username]
      }

      assert.deepEqual(await register(decomposed), [201, 'andr\u00e9'])
      assert.deepEqual(await register(composed), [409, 'USERNAME_ALREADY_EXISTS'])
      const sameAddress = { ...composed, username: 'another' }
      assert.deepEqual(await register(sameAddress), [409, 'EMAIL_ALREADY_EXISTS'])
      for (const { username } of [composed, decomposed])
        assert.equal((await api.post('/api/auth/login', { username, password })).status, 200)
    })

    test('treats composed and decomposed letters as the same password', async (t) => {
      const { api } = await startIdentity(t, { engine })
      await api.post('/api/auth/register', { ...ALICE, password: 'caf\u00e9 in the morning' })

      const login = await api.post('/api/auth/login', {
        username: 'alice',
        password: 'cafe\u0301 in the morning',
      })

      assert.equal(login.status, 200)
    })
  })

  describe(`a registration with an invalid request on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const valid = { username: 'bob', email: 'bob@localhost', password: '123456789012' }
    const invalid: [name: string, changes: object, field: string][] = [
      ['no username', { username: undefined }, 'username'],
      ['a blank username', { username: '   ' }, 'username'],
      ['a username of two characters', { username: 'ab' }, 'username'],
      ['two characters and spaces around them', { username: ' ab ' }, 'username'],
      ['a username of 51 characters', { username: 'x'.repeat(51) }, 'username'],
      ['a NUL in the username', { username: 'bo\u0000b' }, 'username'],
      ['a lone surrogate in the username', { username: 'bo\ud800b' }, 'username'],
      ['a username with a zero-width space', { username: 'adm\u200bin' }, 'username'],
      ['a username with a zero-width non-joiner', { username: 'ad\u200cmin' }, 'username'],
      ['a username with a variation selector', { username: 'admin\ufe0f' }, 'username'],
      ['a username with a Hangul filler', { username: 'ad\u3164min' }, 'username'],
      ['a username with a right-to-left override', { username: 'a\u202enimd' }, 'username'],
      ['three code points that compose to two letters', { username: 'e\u0301x' }, 'username'],
      ['a number as username', { username: 12345 }, 'username'],
      ...RESERVED.map((username): [string, object, string] => [
        `the reserved username ${JSON.stringify(username)}`,
        { username },
        'username',
      ]),
      ['no e-mail', { email: undefined }, 'email'],
      ['an e-mail without @', { email: 'not-an-email' }, 'email'],
      ['an e-mail with two @', { email: 'a@b@c' }, 'email'],
      ['an e-mail with nothing before the @', { email: '@b' }, 'email'],
      ['an e-mail over 254 characters', { email: `${'x'.repeat(250)}@b.cd` }, 'email'],
      ['an e-mail that lower case makes too long', { email: `${'İ'.repeat(250)}@x` }, 'email'],
      ['a NUL in the e-mail', { email: 'a\u0000@b' }, 'email'],
      ['a lone surrogate in the e-mail', { email: 'a\udc00@b' }, 'email'],
      ['no password', { password: undefined }, 'password'],
      ['a password of 11 characters', { password: '12345678901' }, 'password'],
      ['a password of six emoji', { password: '😀'.repeat(6) }, 'password'],
      ['a password of 12 spaces', { password: ' '.repeat(12) }, 'password'],
      ['a password of 1025 characters', { password: 'x'.repeat(1025) }, 'password'],
      ['a password that is a number', { password: 123456789012 }, 'password'],
      ['a password that is an array', { password: ['123456789012'] }, 'password'],
      ['a password that is null', { password: null }, 'password'],
    ]
    for (const [name, changes, field] of invalid) {
      test(`is refused for ${name}`, async () => {
        const { status, body } = await identity().api.post('/api/auth/register', {
          ...valid,
          ...changes,
        })

        assert.equal(status, 400)
        assert.equal(body.code, 'VALIDATION_ERROR')
        assert.deepEqual(
          body.errors.map((error: string) => error.split(':')[0]),
          [field],
        )
      })
    }

    test('says that invisible and control characters are refused', async () => {
      for (const username of ['a\tbc', 'ab\u200bc']) {
        const { body } = await identity().api.post('/api/auth/register', { ...valid, username })
        const rule = 'must have 3 to 50 characters, and no control or invisible ones'
        assert.deepEqual(body.errors, [`username: ${rule}`])
      }
    })

    test('lists every invalid field at once', async () => {
      const { body } = await identity().api.post('/api/auth/register', {})

      assert.deepEqual(body.errors.map((error: string) => error.split(':')[0]).sort(), [
        'email',
        'password',
        'username',
      ])
    })

    test('is 400 for malformed JSON, no body or a wrong JSON type, and 415 for another media type', async () => {
      const { api } = identity()
      const json = { 'content-type': 'application/json' }
      const send = async (body: string | undefined, headers: Record<string, string>) =>
        (await api.request('POST', '/api/auth/register', { headers, body })).status

      assert.equal(await send('{"username":', json), 400)
      assert.equal(await send(undefined, json), 400)
      assert.equal(await send('[]', json), 400)
      assert.equal(await send('"x"', json), 400)
      assert.equal(await send('{}', { 'content-type': 'text/plain' }), 415)
    })
  })

  describe(`a registration accepts on ${engine.name}`, engine.options, () => {
    const identity = sharedIdentity({ engine })
    const accepted: [name: string, changes: object][] = [
      ['a password of exactly 12 characters', { password: '123456789012' }],
      ['a password of 12 emoji', { password: '😀'.repeat(12) }],
      ['a password of 1024 characters', { password: 'x'.repeat(1024) }],
      ['a username of three characters', { username: 'abc' }],
      ['a username of 50 characters', { username: 'x'.repeat(50) }],
      ['a username in any script', { username: 'żółć 日本' }],
      ['a username that only begins like a reserved one', { username: 'user 5 of the club' }],
      ['a username with a reserved word in it', { username: 'delivery desk' }],
      ['an e-mail without a top-level domain', { email: 'a@localhost' }],
    ]
    for (const [index, [name, changes]] of accepted.entries()) {
      test(`${name}, which then logs in`, async () => {
        const body = {
          username: `user-${index}`,
          email: `user-${index}@localhost`,
          password: 'some long password',
          ...changes,
        }
        const { api } = identity()

        assert.equal((await api.post('/api/auth/register', body)).status, 201)
        assert.equal((await api.post('/api/auth/login', body)).status, 200)
      })
    }
  })
}

describe('a password blocklist', () => {
  test('refuses the passwords listed in its file', async (t) => {
    const file = join(tmpdir(), `blocklist-${process.pid}.txt`)
    t.after(() => rmSync(file))
    writeFileSync(file, '123qweasdzxc\r\nQwerty123456\n')
    const { api } = await startIdentity(t, { env: { IDENTITY_PASSWORD_BLOCKLIST: file } })
    const register = (password: string) => api.post('/api/auth/register', { ...ALICE, password })

    const refused = await register('QWERTY123456')
    const accepted = await register('correct horse battery')

    assert.deepEqual(
      [refused.status, refused.body.errors],
      [400, ['password: is one that everybody tries first']],
    )
    assert.equal(accepted.status, 201)
  })

  test('refuses them however the file or the caller encodes them', async (t) => {
    const file = join(tmpdir(), `encoded-blocklist-${process.pid}.txt`)
    t.after(() => rmSync(file))
    const [first, composed] = ['company name 2030', 'geschäftsführer']
    writeFileSync(file, `\ufeff${first}\r\n${composed.normalize('NFD')}\r\n`)
    const { api } = await startIdentity(t, { env: { IDENTITY_PASSWORD_BLOCKLIST: file } })
    const register = (password: string) => api.post('/api/auth/register', { ...ALICE, password })

    const replies = await Promise.all(
      [first, composed, composed.normalize('NFD')].map((password) => register(password)),
    )

    assert.deepEqual(
      replies.map(({ status }) => status),
      [400, 400, 400],
    )
  })
})
