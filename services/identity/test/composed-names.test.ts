import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { AccountTables } from '@plinth/accounts'
import { openDatabase } from '@plinth/kit/database'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { ALICE, engines, startIdentity } from './start-identity.ts'

type Tables = AccountTables & { schema_migrations: { name: string } }

const RENE = { ...ALICE, username: 'ren\u00e9', email: 'ren\u00e9@example.com' }
const DECOMPOSED = { username: 'rene\u0301', email: 'rene\u0301@example.com' }

/** Puts a database back in the state before the migration that composes names. */
async function undoMigration(url: string, userId: number): Promise<void> {
  const { db, close } = await openDatabase<Tables>(url, identityMigrations)
  await db.updateTable('users').set(DECOMPOSED).where('id', '=', userId).execute()
  await db
    .deleteFrom('schema_migrations')
    .where('name', '=', 'accounts-0002-composed-names')
    .execute()
  await close()
}

for (const engine of engines) {
  describe(`names stored with decomposed letters on ${engine.name}`, engine.options, () => {
    test('are found after the migration', async (t) => {
      const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
      const before = await startIdentity(t, { engine, env })
      const { body: user } = await before.api.post('/api/auth/register', RENE)
      await undoMigration(env.IDENTITY_DATABASE_URL, user.id)

      const { api } = await startIdentity(t, { engine, env })

      const { status } = await api.post('/api/auth/login', { ...RENE, ...DECOMPOSED })
      const again = await api.post('/api/auth/register', { ...RENE, username: 'other' })
      assert.equal(status, 200)
      assert.equal(again.body.code, 'EMAIL_ALREADY_EXISTS')
    })

    test('do not stop the migration when the composed name is taken', async (t) => {
      const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
      const before = await startIdentity(t, { engine, env })
      await before.api.post('/api/auth/register', RENE)
      const { body: alice } = await before.api.post('/api/auth/register', ALICE)
      await undoMigration(env.IDENTITY_DATABASE_URL, alice.id)

      const { api } = await startIdentity(t, { engine, env })

      assert.equal((await api.post('/api/auth/login', RENE)).status, 200)
    })
  })
}
