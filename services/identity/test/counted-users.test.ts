import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { engineOf, openDatabase } from '@plinth/kit/database'
import { sql } from 'kysely'
import { identityMigrations } from '../src/database/migrations/index.ts'
import { ALICE, adminToken, engines, startIdentity } from './start-identity.ts'

type Tables = { schema_migrations: { name: string } }

/** Puts a database back in the state of a version that took ids from a row with the number of users. */
async function undoMigration(url: string): Promise<void> {
  const { db, close } = await openDatabase<Tables>(url, identityMigrations)
  await sql`create table user_total (id integer primary key, total bigint not null)`.execute(db)
  await sql`insert into user_total select 1, count(*) from users`.execute(db)
  if (engineOf(db) === 'sqlite') await sql`drop index users_id`.execute(db)
  // That version never advanced the PostgreSQL sequence.
  else await sql`alter table users alter column id restart with 1`.execute(db)
  await db
    .deleteFrom('schema_migrations')
    .where('name', '=', 'accounts-0003-counted-users')
    .execute()
  await close()
}

for (const engine of engines) {
  describe(`a database that counted its users in a row, on ${engine.name}`, engine.options, () => {
    test('is migrated: registrations get new ids, and pages count every user', async (t) => {
      const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
      await startIdentity(t, { engine, env })
      await undoMigration(env.IDENTITY_DATABASE_URL)

      const { api } = await startIdentity(t, { engine, env })

      const registered = await api.post('/api/auth/register', ALICE)
      const page = await api.get('/api/users', { token: await adminToken(api) })
      assert.deepEqual([registered.status, registered.body.id], [201, 3])
      assert.equal(page.body.totalElements, 3)
      assert.deepEqual(
        page.body.content.map(({ username }: { username: string }) => username),
        ['admin', 'user', 'alice'],
      )
    })

    test('is migrated when it has no users yet', async (t) => {
      const env = { IDENTITY_DATABASE_URL: await engine.freshUrl(t) }
      await startIdentity(t, { engine, env: { ...env, IDENTITY_DEMO_ACCOUNTS: 'false' } })
      await undoMigration(env.IDENTITY_DATABASE_URL)

      const { api } = await startIdentity(t, { engine, env })

      assert.equal((await api.post('/api/auth/register', ALICE)).body.id, 3)
    })
  })
}
