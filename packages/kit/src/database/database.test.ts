import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { engines, type TestEngine } from '../../testing/databases/engines.ts'
import { StartError } from '../problems.ts'
import { forUpdate, idColumn, isUniqueViolation } from './engine.ts'
import { kitMigrations } from './leases/leases.repository.ts'
import type { Migration } from './migrate.ts'
import { type Database, openDatabase } from './open.ts'
import { inTransaction } from './transaction.ts'

type NoteTables = { notes: { id?: number; text: string; copies: number } }

const NOTES: Migration = {
  name: 'test-0001-notes',
  up: async (db, engine) => {
    await db.schema
      .createTable('notes')
      .addColumn('id', ...idColumn(engine))
      .addColumn('text', 'varchar(100)', (column) => column.notNull().unique())
      .addColumn('copies', 'bigint', (column) => column.notNull())
      .execute()
  },
}

const INDEX: Migration = {
  name: 'test-0002-index',
  up: async (db) => {
    await db.schema.createIndex('notes_copies').on('notes').column('copies').execute()
  },
}

async function openNotes(t: TestContext, url: string, migrations = [NOTES], version?: string) {
  const database = await openDatabase<NoteTables>(url, migrations, { version })
  t.after(() => database.close())
  return database
}

const add = ({ db }: Database<NoteTables>, text: string) =>
  db.insertInto('notes').values({ text, copies: 1 }).returning('id').executeTakeFirstOrThrow()

for (const engine of engines)
  describe(`a database on ${engine.name}`, { skip: engine.skip }, () => {
    test('is ready when it is opened, and numbers come back as numbers', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t), [...kitMigrations, NOTES])

      const first = await add(database, 'a')
      const second = await add(database, 'b')

      assert.deepEqual([first.id, second.id], [1, 2])
      assert.equal(await database.ping(), true)
      assert.equal(database.engine, engine.name)
    })

    test('applies only what is new, and several nodes may start at once', async (t) => {
      const url = await engine.freshUrl(t)
      const nodes = await Promise.all([1, 2, 3].map(() => openNotes(t, url)))
      await add(nodes[0] as Database<NoteTables>, 'kept')

      const later = await openNotes(t, url, [NOTES, INDEX])

      assert.equal((await later.db.selectFrom('notes').selectAll().execute()).length, 1)
    })

    test('refuses a schema newer than the code, and names it and both versions', async (t) => {
      const url = await engine.freshUrl(t)
      await openNotes(t, url, [NOTES, INDEX], '1.4.0')

      await assert.rejects(
        openNotes(t, url, [NOTES], '1.3.2'),
        /newer than this version.*of Plinth 1\.4\.0, and this is 1\.3\.2 .*test-0002-index.*Start 1\.4\.0/,
      )
    })

    test('takes over a schema of 1.0, which kept no versions', async (t) => {
      const url = await engine.freshUrl(t)
      const { db } = await openNotes(t, url)
      await sql`alter table schema_migrations drop column version`.execute(db)

      const later = await openNotes(t, url, [NOTES, INDEX], '1.1.0')

      const rows = await sql`select * from schema_migrations order by name`.execute(later.db)
      assert.deepEqual(rows.rows, [
        { name: 'test-0001-notes', version: null },
        { name: 'test-0002-index', version: '1.1.0' },
      ])
    })

    test('a migration that fails leaves nothing behind', async (t) => {
      const url = await engine.freshUrl(t)
      const broken = { name: 'test-0002-broken', up: () => Promise.reject(new Error('broken')) }

      await assert.rejects(openNotes(t, url, [NOTES, broken]), /broken/)

      await add(await openNotes(t, url), 'fresh')
    })

    test('names a unique violation, whatever the driver calls it', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t))
      await add(database, 'once')

      const error = await add(database, 'once').catch((thrown) => thrown)

      assert.ok(isUniqueViolation(error))
      assert.ok(isUniqueViolation(error, 'text'))
      assert.equal(isUniqueViolation(error, 'copies'), false)
      assert.equal(isUniqueViolation(new Error('other')), false)
    })

    test('a transaction that throws leaves nothing', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t))

      const work = inTransaction(database.db, async (db) => {
        await db.insertInto('notes').values({ text: 'gone', copies: 1 }).execute()
        throw new Error('no')
      })

      await assert.rejects(work, /no/)
      assert.deepEqual(await database.db.selectFrom('notes').selectAll().execute(), [])
    })

    test('of transactions that wait together one that throws undoes only itself', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t))
      const write = (number: number) =>
        inTransaction(database.db, async (db) => {
          await db
            .insertInto('notes')
            .values({ text: `note ${number}`, copies: 1 })
            .execute()
          if (number % 3 === 0) throw new Error(`no to ${number}`)
          return number
        })

      const outcomes = await Promise.allSettled(Array.from({ length: 100 }, (_, i) => write(i)))

      const rows = await database.db.selectFrom('notes').select('text').execute()
      const kept = outcomes.flatMap((one) =>
        one.status === 'fulfilled' ? `note ${one.value}` : [],
      )
      assert.equal(kept.length, 66)
      assert.deepEqual(new Set(rows.map(({ text }) => text)), new Set(kept))
      const refused = outcomes.flatMap((one) => (one.status === 'rejected' ? one.reason : []))
      assert.ok(refused.every(({ message }) => /^no to/.test(message)))
    })

    test('transactions of two nodes that meet are all applied', async (t) => {
      const url = await engine.freshUrl(t)
      const nodes = [await openNotes(t, url), await openNotes(t, url)]
      await add(nodes[0] as Database<NoteTables>, 'count')

      await Promise.all(Array.from({ length: 20 }, (_, i) => increment(nodes[i % 2])))

      const row = await nodes[0]?.db.selectFrom('notes').select('copies').executeTakeFirst()
      assert.equal(row?.copies, 21)
    })
  })

test('a database that does not answer is named, without its password', async () => {
  const opening = openDatabase('postgres://me:hunter2@127.0.0.1:1/shop', [NOTES])

  const error = await opening.catch((thrown) => thrown)

  assert.ok(error instanceof StartError)
  assert.match(error.message, /"shop" at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/)
  assert.doesNotMatch(error.message, /hunter2/)
})

test('a transaction that SQLite itself rolled back, as it does on a full disk, keeps its cause and blocks no other', async (t) => {
  const [sqlite] = engines as [TestEngine]
  const database = await openNotes(t, await sqlite.freshUrl(t))

  const lost = inTransaction(database.db, async (db) => {
    await sql`rollback`.execute(db)
    throw new Error('the disk is full')
  })

  await assert.rejects(lost, /the disk is full/)
  const kept = await inTransaction(database.db, (db) => add({ ...database, db }, 'kept'))
  assert.equal(kept.id, 1)
})

describe('the copy of a SQLite file that is made before its schema changes', () => {
  const [sqlite] = engines as [TestEngine]

  test('has everything that was committed, even while another reads', async (t) => {
    const url = await sqlite.freshUrl(t)
    const file = url.slice('sqlite:'.length)
    const database = await openNotes(t, url)
    const reader = new SqliteDatabase(file)
    t.after(() => reader.close())
    reader.exec('begin')
    reader.prepare('select count(*) from notes').get()
    await add(database, 'committed after the reader began')

    await openNotes(t, url, [NOTES, INDEX], '1.1.0')

    const copy = new SqliteDatabase(`${file}.before-1.1.0`)
    t.after(() => copy.close())
    const tables = "select name from sqlite_master where name = 'notes_copies'"
    assert.deepEqual(copy.prepare('select copies from notes').all(), [{ copies: 1 }])
    assert.deepEqual(copy.prepare(tables).all(), [])
  })

  test('is named after the version that is started, and three are kept', async (t) => {
    const url = await sqlite.freshUrl(t)
    const file = url.slice('sqlite:'.length)
    const later = ['1.1.0', '1.2.0', '1.3.0', '1.10.0'].map((version) => ({
      version,
      migration: { name: `test-${version}`, up: async () => {} },
    }))
    await openNotes(t, url, [NOTES], '1.0.0')

    const applied = [NOTES]
    for (const { version, migration } of later) {
      applied.push(migration)
      await openNotes(t, url, applied, version)
    }

    const copies = readdirSync(dirname(file)).filter((name) =>
      name.startsWith(`${basename(file)}.before-`),
    )
    assert.deepEqual(copies.map((name) => name.slice(`${basename(file)}.before-`.length)).sort(), [
      '1.10.0',
      '1.2.0',
      '1.3.0',
    ])
  })
})

/** Read, then write: correct only if no other wrote in between. */
function increment(node: Database<NoteTables> | undefined): Promise<void> {
  const { db } = node as Database<NoteTables>
  return inTransaction(db, async (transaction) => {
    const note = transaction.selectFrom('notes').select('copies')
    const { copies } = await forUpdate(transaction, note).executeTakeFirstOrThrow()
    await transaction
      .updateTable('notes')
      .set({ copies: copies + 1 })
      .execute()
  })
}
