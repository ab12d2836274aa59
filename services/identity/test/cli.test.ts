import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { promisify } from 'node:util'
import { cheapHashing } from '@plinth/accounts/testing'
import { engines } from '@plinth/kit/testing'
import { ALICE, startWithAlice } from './start-identity.ts'

const CLI = join(import.meta.dirname, '../src/cli.ts')

/** Runs the command line against the database of a running service. */
function commandLine(databaseUrl: string) {
  const env = {
    ...cheapHashing('IDENTITY_'),
    SUITE_DATA: tmpdir(),
    IDENTITY_MASTER_KEY: Buffer.alloc(32, 7).toString('base64'),
    IDENTITY_DATABASE_URL: databaseUrl,
  }
  return (...words: string[]) => promisify(execFile)(process.execPath, [CLI, ...words], { env })
}

for (const engine of engines) {
  describe(`node services/identity/src/cli.ts user on ${engine.name}`, {
    skip: engine.skip,
  }, () => {
    test('creates an administrator whose printed password logs in', async (t) => {
      const { api, config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)

      const { stdout } = await run('user', 'create', 'root', 'root@localhost', '--admin')

      const password = /First password: (\S+)/.exec(stdout)?.[1]
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
      const { stdout } = await run('user', 'reset-password', 'alice')
      assert.equal(await logIn(), 401)
      assert.equal(await logIn(/: (\S+)\n$/.exec(stdout)?.[1]), 200)
    })

    test('explains itself and ends with a failure when it is called wrongly', async (t) => {
      const { config } = await startWithAlice(t, { engine })
      const run = commandLine(config.databaseUrl)

      await assert.rejects(run('user'), /Usage:/)
      await assert.rejects(run('user', 'disable', 'nobody'), /There is no user "nobody"/)
      await assert.rejects(run('user', 'disable', 'admin'), /last enabled administrator/)
      await assert.rejects(run('user', 'create', 'alice', 'x@y'), /already exists/)
    })
  })
}
