import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Database, inTransaction, openDatabase } from '@plinth/kit/database'
import { postgres } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { until } from '../../../test/until.ts'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'

const OF_ONE_ZERO = new Set([
  'kit-0001-leases',
  'signing-keys-0001-keys',
  'accounts-0001-users-sessions-audit',
  'accounts-0002-composed-names',
  'storage-0001-files-links-locations-moves',
])
const oneZero = storageMigrations.filter(({ name }) => OF_ONE_ZERO.has(name))

/** As a node of 1.0 stores a file, with statements that may not take long. */
function storeFile({ db }: Database<StorageTables>, name: string) {
  return sql`insert into files (owner_id, owner_name, original_filename, stored_filename, extension,
      content_type, size_bytes, checksum_sha256, location_id, object_name, state, thumbnail, created_at)
    select 'owner', 'grace', ${name}, ${name}, 'txt', 'text/plain', 1, 'sum', id, ${name}, 'stored', 'NONE',
      '2026-01-01T00:00:00.000Z' from storage_locations`.execute(db)
}

async function indexesOf({ db }: Database<StorageTables>): Promise<string[]> {
  const { rows } = await sql<{ text: string }>`select pg_get_indexdef(indexrelid) as text
    from pg_index join pg_class on pg_class.oid = indexrelid
    where relnamespace = 'public'::regnamespace and indisvalid order by text`.execute(db)
  return rows.map(({ text }) => text)
}

/** Those of the tables that are large where there are many users. */
async function accountIndexesOf({ db }: Database<StorageTables>): Promise<string[]> {
  const { rows } = await sql<{ name: string }>`select indexname as name from pg_indexes
    where tablename in ('users', 'sessions', 'audit_events') order by name`.execute(db)
  return rows.map(({ name }) => name)
}

async function countUnbuilt({ db }: Database<StorageTables>): Promise<number> {
  const { rows } = await sql`select indexrelid from pg_index where not indisvalid`.execute(db)
  return rows.length
}

test('a node of 1.0 stores files while indexes are built, which are then those of a new database', {
  skip: postgres.skip,
}, async (t) => {
  const paused = Promise.withResolvers<void>()
  t.after(() => paused.resolve())
  const url = await postgres.freshUrl(t, [])
  const old = await openDatabase<StorageTables>(url, oneZero, {
    version: '1.0.0',
    statementMs: 2_000,
  })
  t.after(() => old.close())
  await sql`insert into storage_locations (provider, place, prefix, sealed_settings, created_at)
    values ('LOCAL', 'place', '', '', '2026-01-01T00:00:00.000Z')`.execute(old.db)
  await storeFile(old, 'before.txt')
  const builtBefore = await accountIndexesOf(old)
  // A concurrent build waits for every older snapshot.
  const pause = inTransaction(old.db, async (transaction) => {
    await sql`set transaction isolation level repeatable read`.execute(transaction)
    await sql`select 1`.execute(transaction)
    await paused.promise
  })

  const updating = openDatabase<StorageTables>(url, storageMigrations)
  t.after(async () => (await updating).close())
  await until(
    () => countUnbuilt(old),
    (count) => count > 0,
  )
  await storeFile(old, 'meanwhile.txt')
  const builtFirst = (await accountIndexesOf(old)).filter((name) => !builtBefore.includes(name))
  paused.resolve()
  await pause
  const updated = await updating

  const created = await openDatabase<StorageTables>(
    await postgres.freshUrl(t, []),
    storageMigrations,
  )
  t.after(() => created.close())
  assert.deepEqual(await indexesOf(updated), await indexesOf(created))
  // A unique index, and the one that is being built.
  assert.deepEqual(builtFirst, ['sessions_browser', 'users_deletes_at'])
  const files = await updated.db
    .selectFrom('files')
    .select(['original_filename', 'words'])
    .orderBy('id')
    .execute()
  assert.deepEqual(files, [
    { original_filename: 'before.txt', words: null },
    { original_filename: 'meanwhile.txt', words: null },
  ])
})
