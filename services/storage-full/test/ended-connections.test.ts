import assert from 'node:assert/strict'
import { test } from 'node:test'
import { openDatabase } from '@plinth/kit/database'
import { pooled } from '@plinth/kit/testing'
import { sql } from 'kysely'
import { storageMigrations } from '../src/database/migrations/index.ts'
import type { StorageTables } from '../src/database/tables.ts'
import { engines, startStorage, upload } from './start-storage.ts'

const postgres = engines.find(({ name }) => name === 'postgres')
const UPLOADS = 300
const CLIENTS = 12
// Paced by the uploads, so that on no machine all of them or none of them lose their connection.
const UPLOADS_PER_END = 10

test('uploads acknowledged while the server ends connections are stored and counted once', {
  skip: postgres?.skip,
}, async (t) => {
  const STORAGE_FULL_DATABASE_URL = (await postgres?.freshUrl(t)) ?? ''
  const { api, user } = await startStorage(t, { STORAGE_FULL_DATABASE_URL })
  const { db, close } = await openDatabase<StorageTables>(
    STORAGE_FULL_DATABASE_URL,
    storageMigrations,
  )
  t.after(close)
  /** Those at work first: an upload survives the end of an idle connection. */
  const endSome = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid != pg_backend_pid()
      order by state = 'idle' limit 2`
      .execute(db)
      .catch((error) => {
        // Behind a pooler, our own connection may be among them.
        if (!pooled) throw error
      })
  const acknowledged: number[] = []
  const refused: number[] = []
  let left = UPLOADS
  const client = async () => {
    while (left > 0) {
      left -= 1
      const { status, body } = await upload(api, user)
      if (status === 201) acknowledged.push(body.id)
      else refused.push(status)
      if ((acknowledged.length + refused.length) % UPLOADS_PER_END === 0) await endSome()
    }
  }

  await Promise.all(Array.from({ length: CLIENTS }, client))

  const stored = await db.selectFrom('files').select('id').where('state', '=', 'stored').execute()
  const usage = await db.selectFrom('owner_usage').select('total').executeTakeFirst()
  const ids = new Set(stored.map(({ id }) => id))
  assert.ok(acknowledged.length > 0 && refused.length > 0)
  assert.deepEqual(
    acknowledged.filter((id) => !ids.has(id)),
    [],
  )
  assert.equal(usage?.total, ids.size)
  assert.ok(ids.size <= UPLOADS)
})
