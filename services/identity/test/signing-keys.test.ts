import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import type { TestEngine } from '@plinth/kit/testing'
import { identityMigrations } from '../src/database/migrations/index.ts'
import type { IdentityTables } from '../src/database/tables.ts'
import { ALICE, engines, startWithAlice } from './start-identity.ts'

/** A service with alice signed in, and direct access to its signing keys. */
async function startWithKeyTable(t: TestContext, engine: TestEngine) {
  const started = await startWithAlice(t, { engine })
  const { databaseUrl } = started.config
  const { db, close } = await openDatabase<IdentityTables>(databaseUrl, identityMigrations)
  t.after(close)
  return { ...started, db }
}

for (const engine of engines) {
  describe(`the signing keys on ${engine.name}`, engine.options, () => {
    test('can be deleted: a minute later old access tokens are invalid, and login and refresh work', async (t) => {
      const { api, clock, db, pair, token } = await startWithKeyTable(t, engine)
      await db.deleteFrom('signing_keys').execute()
      clock.advance(60)

      const dead = await api.get('/api/users/me', { token })
      const { refreshToken } = pair
      const pairs = [
        await api.post('/api/auth/refresh', { refreshToken }),
        await api.post('/api/auth/login', ALICE),
      ]

      assert.equal(dead.status, 401)
      for (const { status, body } of pairs) {
        assert.equal(status, 200)
        assert.equal((await api.get('/api/users/me', { token: body.accessToken })).status, 200)
      }
    })

    test('may be unreadable: a failed refresh uses up no token, and a failed login opens no session', async (t) => {
      const { api, clock, db, pair } = await startWithKeyTable(t, engine)
      const { refreshToken } = pair
      const { kid } = await db.selectFrom('signing_keys').select('kid').executeTakeFirstOrThrow()
      await db.updateTable('signing_keys').set({ kid: 'unreadable' }).execute()
      clock.advance(60)

      const failed = [
        await api.post('/api/auth/refresh', { refreshToken }),
        await api.post('/api/auth/login', ALICE),
      ]
      await db.updateTable('signing_keys').set({ kid }).execute()
      const recovered = await api.post('/api/auth/refresh', { refreshToken })

      assert.deepEqual(
        failed.map(({ status }) => status),
        [500, 500],
      )
      assert.equal(recovered.status, 200)
      const { accessToken: token } = recovered.body
      assert.equal((await api.get('/api/users/me/sessions', { token })).body.length, 1)
    })
  })
}
