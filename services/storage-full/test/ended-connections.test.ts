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
  const acknowledged: number[] = []
  const refused: number[] = []
  let left = UPLOADS
  const client = async () => {
    while (left > 0) {
      left -= 1
      const { status, body } = await upload(api, user)
      if (status === 201) acknowledged.push(body.id)
      else refused.push(status)
    }
  }
  const endSome = () =>
    sql`select pg_terminate_backend(pid) from pg_stat_activity
      where datname = current_database() and pid != pg_backend_pid() limit 2`.execute(db)
  const end = async () => {
    while (left > 0)
      await endSome().catch((error) => {
        // Behind a pooler, our own connection may be among them.
        if (!pooled) throw error
      })
  }

  await Promise.all([...Array.from({ length: CLIENTS }, client), end()])

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
