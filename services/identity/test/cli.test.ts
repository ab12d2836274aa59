import assert from 'node:assert/strict'
import { chmod, mkdtemp, rm, stat, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { testClock } from '@plinth/kit/testing'
import { commandLine, commandLineIn } from './command-line.ts'
import { mailTo } from './inbox.ts'
import { ALICE, adminToken, engines, startWithAlice } from './start-identity.ts'

type Row = Record<string, string | number | null>

test('plinth user --help shows the commands and needs no database', async () => {
  const run = commandLine('postgres://127.0.0.1:1/none')

  for (const words of [['--help'], ['user', '--help']])
    assert.match((await run(...words)).stdout, /\n {2}user create <username> <email> /)
  const { stdout } = await run('user', 'create', '-h')
  assert.match(stdout, /^Usage: plinth user create <username> <email> \[--admin\]/)
})

for (const engine of engines) {
  describe(`plinth user on ${engine.name}`, engine.options, () => {
    test('creates an administrator whose printed password logs in', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)

      const { stdout, stderr } = await run('user', 'create', 'root', 'root@localhost', '--admin')

      const password = stdout.trimEnd()
      assert.match(
        stderr,
        /^Created root \(ROLE_ADMIN, ROLE_USER\)\. This is the first password\.$/m,
      )
      const { body } = await api.post('/api/auth/login', { username: 'root', password })
      assert.equal((await api.get('/api/users', { token: body.accessToken })).status, 200)
    })

    test('disables, enables and resets the password of a user', async (t) => {
      const { api, config, token } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)
      const logIn = async (password = ALICE.password) =>
        (await api.post('/api/auth/login', { ...ALICE, password })).status

      await run('user', 'disable', 'alice')
      assert.equal(await logIn(), 401)
      assert.equal((await api.get('/api/users/me', { token })).status, 401)
      await run('user', 'enable', 'alice')
      assert.equal(await logIn(), 200)
      const folder = await mkdtemp(join(tmpdir(), 'plinth-cli-'))
      t.after(() => rm(folder, { recursive: true }))
      const file = join(folder, 'guessable')
      await writeFile(file, ALICE.email)
      const guessable = run('user', 'reset-password', 'alice', '--password-file', file)
      await assert.rejects(guessable, /must not be the username or the e-mail address/)
      assert.equal(await logIn(), 200)
      const { stdout } = await run('user', 'reset-password', 'alice')
      assert.equal(await logIn(), 401)
      assert.equal(await logIn(stdout.trimEnd()), 200)
    })

    test('changes roles under the same rules as PATCH /api/users/{id}', async (t) => {
      const { api, config, token, userId } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)
      const listUsers = async () => (await api.get('/api/users', { token })).status
      const admin = await adminToken(api)

      const { stdout } = await run('user', 'roles', 'Alice', 'ROLE_USER', 'ROLE_ADMIN')
      assert.equal(stdout, 'alice has ROLE_USER, ROLE_ADMIN.\n')
      assert.equal(await listUsers(), 200)
      await run('user', 'roles', 'alice', 'ROLE_USER')
      assert.equal(await listUsers(), 403)
      for (const roles of [['ROLE_ROOT'], ['ROLE_USER', 'ROLE_USER']]) {
        const { body } = await api.patch(`/api/users/${userId}`, { roles }, { token: admin })
        const refusal = await run('user', 'roles', 'alice', ...roles).catch((error) => error)
        assert.deepEqual([refusal.code, refusal.stderr], [64, `${body.errors.join('\n')}\n`])
      }
      await assert.rejects(run('user', 'roles', 'admin', 'ROLE_USER'), /last enabled admin/)
    })

    test('reads .env in the working directory, as the service does; the environment takes precedence', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const folder = await mkdtemp(join(tmpdir(), 'identity-cli-'))
      t.after(() => rm(folder, { recursive: true }))
      const lines = [`IDENTITY_DATABASE_URL=${config.databaseUrl}`, 'IDENTITY_MASTER_KEY=nonsense']
      await writeFile(join(folder, '.env'), lines.join('\n'))

      await commandLineIn(folder)('user', 'disable', 'alice')

      assert.equal((await api.post('/api/auth/login', ALICE)).status, 401)
    })

    test('exits with 78 for invalid settings, 69 for a database it cannot open, 1 for a refusal', async (t) => {
      const { config } = await startWithAlice(t, { engine })
      const folder = await mkdtemp(join(tmpdir(), 'identity-cli-'))
      t.after(() => rm(folder, { recursive: true }))
      await chmod(folder, 0o755)
      const words = ['user', 'disable', 'admin']
      const failureOf = (url: string, settings = {}) =>
        commandLine(url, settings)(...words).catch((error) => error)

      const faulty = await failureOf(config.databaseUrl, { IDENTITY_PASSWORD_MIN_LENGTH: '1' })
      const absent = await failureOf(`sqlite:${folder}`)
      const refused = await failureOf(config.databaseUrl)

      assert.deepEqual([faulty.code, absent.code, refused.code], [78, 69, 1])
      assert.match(faulty.stderr, /IDENTITY_PASSWORD_MIN_LENGTH/)
      assert.match(absent.stderr, /is a folder.*IDENTITY_DATABASE_URL/)
      assert.equal((await stat(folder)).mode & 0o777, 0o755)
    })

    test('validates names like a registration over HTTP, with the same messages', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)
      const names = [
        ['ab', 'ab@localhost'],
        ['x'.repeat(51), 'no address'],
        ['a bell\u0007', 'a@b@c'],
        ['settings', 'settings@localhost'],
      ]
      for (const [username = '', email = ''] of names) {
        const password = 'a password that is good'
        const { body } = await api.post('/api/auth/register', { username, email, password })

        const refusal = await run('user', 'create', username, email).catch((error) => error)

        assert.ok(body.errors.length > 0)
        assert.deepEqual([refusal.code, refusal.stderr], [64, `${body.errors.join('\n')}\n`])
      }
    })

    test('trims and lower-cases like a registration, and generates a password of the required length', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl, { IDENTITY_PASSWORD_MIN_LENGTH: '128' })

      const { stdout } = await run('user', 'create', ' Carol ', 'Carol@Localhost')

      const password = stdout.trimEnd()
      assert.match(password, /^\S{128,}$/)
      const { status } = await api.post('/api/auth/login', { username: 'carol', password })
      assert.equal(status, 200)
    })

    test('sends users links to the public address of the suite', async (t) => {
      // Near the command's own time: far ahead of it, the service would find its mail expired.
      const clock = testClock(new Date(Date.now() + 60_000).toISOString())
      const { api, config } = await startWithAlice(t, { engine, clock })
      const run = commandLine(config.databaseUrl, { SUITE_PUBLIC_URL: 'https://app.example' })

      await run('user', 'reset-password', 'alice')

      const { text } = await mailTo(api, ALICE.email, 'password-changed')
      assert.match(text, /https:\/\/app\.example\/identity\/account\/#alarm=/)
    })

    test('appears as the actor in the audit', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)
      await run('user', 'create', 'root', 'root@localhost', '--admin')
      await run('user', 'disable', 'alice')
      await run('user', 'reset-password', 'alice')

      const token = await adminToken(api)
      const { body } = await api.get('/api/audit', { token })

      assert.deepEqual(
        body.content
          .filter(({ address }: Row) => address === 'command line')
          .map(({ event, actor, subject }: Row) => [event, actor, subject]),
        [
          ['PASSWORD_RESET', 'command line', 'alice'],
          ['USER_DISABLED', 'command line', 'alice'],
          ['REGISTER', 'command line', 'root'],
        ],
      )
    })

    test('prints its usage and fails when called with wrong arguments', async (t) => {
      const { config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)

      const misspelt = ['user', 'create', 'root', 'root@localhost', '--amdin']
      for (const words of [['user', 'create', 'root'], ['user', 'roles', 'alice'], misspelt])
        await assert.rejects(run(...words), /Usage:/)
      await assert.rejects(run('user'), /user create <username> <email>/)
      await assert.rejects(run(...misspelt), /Did you mean --admin\?/)
      await assert.rejects(run('user', 'disable', 'nobody'), /There is no user "nobody"/)
      await assert.rejects(run('user', 'disable', 'admin'), /last enabled administrator/)
      await assert.rejects(run('user', 'create', 'alice', 'x@y'), /already exists/)
    })
  })
}
