import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { StartError } from '@plinth/kit/problems'
import type { TestEngine } from '@plinth/kit/testing'
import { commandLine } from './command-line.ts'
import { ADMIN, engines, startIdentity } from './start-identity.ts'

// A blank setting counts as absent. Production does not allow the cheap hashing of the tests.
const PRODUCTION = {
  NODE_ENV: 'production',
  IDENTITY_PASSWORD_MEMORY_KIB: '',
  IDENTITY_PASSWORD_PASSES: '',
}

/** A database seeded in development, and a way to start production on it. */
async function seededDatabase(t: TestContext, engine: TestEngine) {
  const { config, api } = await startIdentity(t, { engine })
  const { databaseUrl } = config
  const startProduction = (env: Record<string, string> = {}) =>
    startIdentity(t, { env: { ...PRODUCTION, IDENTITY_DATABASE_URL: databaseUrl, ...env } })
  return { api, startProduction, run: commandLine(databaseUrl, PRODUCTION) }
}

for (const engine of engines) {
  describe(`production on a database with demo accounts on ${engine.name}`, engine.options, () => {
    test('does not start, and the error names the accounts and the remedies', async (t) => {
      const { startProduction } = await seededDatabase(t, engine)

      const refusal = await startProduction().catch((error) => error)

      assert.ok(refusal instanceof StartError)
      assert.match(refusal.message, /: admin, user\.\n/)
      assert.match(
        refusal.message,
        /user reset-password.*user disable.*IDENTITY_DEMO_ACCOUNTS=true/s,
      )
    })

    test('starts after the command line has reset or disabled them', async (t) => {
      const { startProduction, run } = await seededDatabase(t, engine)

      await run('user', 'disable', 'user')
      await assert.rejects(startProduction(), /: admin\.\n/)
      const { stdout } = await run('user', 'reset-password', 'admin')
      const { api } = await startProduction()

      const password = stdout.trimEnd()
      assert.equal((await api.post('/api/auth/login', { ...ADMIN, password })).status, 200)
      for (const username of ['admin', 'user'])
        assert.equal((await api.post('/api/auth/login', { ...ADMIN, username })).status, 401)
    })

    test('starts with IDENTITY_DEMO_ACCOUNTS=true and announces that they are on', async (t) => {
      const { startProduction } = await seededDatabase(t, engine)

      const { api, server } = await startProduction({ IDENTITY_DEMO_ACCOUNTS: 'true' })

      assert.equal((await api.post('/api/auth/login', ADMIN)).status, 200)
      assert.match(server.announcements.join(), /demo accounts are on/)
    })
  })
}
