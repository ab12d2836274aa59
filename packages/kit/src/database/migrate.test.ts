import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { basename, dirname } from 'node:path'
import { describe, test } from 'node:test'
import SqliteDatabase from 'better-sqlite3'
import { sql } from 'kysely'
import { bothEngines, pooled, postgres, sqlite } from '../../testing/databases/engines.ts'
import { addNote, NOTES, type NoteTables, openNotes } from '../../testing/databases/notes.ts'
import { isUniqueViolation } from './engine.ts'
import type { Migration } from './migrate.ts'
import { type Database, missingMigrations, openDatabase } from './open.ts'

const INDEX: Migration = {
  name: 'test-0002-index',
  up: async (db) => {
    await db.schema.createIndex('notes_copies').on('notes').column('copies').execute()
  },
}

for (const engine of bothEngines)
  describe(`the schema on ${engine.name}`, engine.options, () => {
    test('gets only the new migrations, and several nodes may start at once', async (t) => {
      const url = await engine.freshUrl(t)
      const nodes = await Promise.all([1, 2, 3].map(() => openNotes(t, url)))
      await addNote(nodes[0] as Database<NoteTables>, 'kept')

      const later = await openNotes(t, url, [NOTES, INDEX])

      assert.equal((await later.db.selectFrom('notes').selectAll().execute()).length, 1)
    })

    test('is refused if it is newer than the code, with an error that names both versions', async (t) => {
      const url = await engine.freshUrl(t)
      await openNotes(t, url, [NOTES, INDEX], '1.4.0')

      await assert.rejects(
        openNotes(t, url, [NOTES], '1.3.2'),
        /newer than this version.*of Plinth 1\.4\.0, and this is 1\.3\.2 .*test-0002-index.*Start 1\.4\.0/,
      )
    })

    test('is upgraded from 1.0, which recorded no versions', async (t) => {
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

    test('is not taken for a new one if its migrations cannot be read', async (t) => {
      const url = await engine.freshUrl(t)
      const { db } = await openNotes(t, url)
      await sql`drop table schema_migrations`.execute(db)
      await sql`create view schema_migrations as select abs(-9223372036854775808) as name`.execute(
        db,
      )

      await assert.rejects(missingMigrations(url, [NOTES]), /overflow|out of range/)
      await assert.rejects(openNotes(t, url, [NOTES, INDEX]), /overflow|out of range/)
    })

    test('is unchanged after a migration that fails', async (t) => {
      const url = await engine.freshUrl(t)
      const broken = { name: 'test-0002-broken', up: () => Promise.reject(new Error('broken')) }

      await assert.rejects(openNotes(t, url, [NOTES, broken]), /broken/)

      await addNote(await openNotes(t, url), 'fresh')
    })
  })

describe('the copy of an SQLite file before a migration', () => {
  test('has everything that was committed, even while another process reads', async (t) => {
    const url = await sqlite.freshUrl(t)
    const file = url.slice('sqlite:'.length)
    const database = await openNotes(t, url)
    const reader = new SqliteDatabase(file)
    t.after(() => reader.close())
    reader.exec('begin')
    reader.prepare('select count(*) from notes').get()
    await addNote(database, 'committed after the reader began')

    await openNotes(t, url, [NOTES, INDEX], '1.1.0')

    const copy = new SqliteDatabase(`${file}.before-1.1.0`)
    t.after(() => copy.close())
    const tables = "select name from sqlite_master where name = 'notes_copies'"
    assert.deepEqual(copy.prepare('select copies from notes').all(), [{ copies: 1 }])
    assert.deepEqual(copy.prepare(tables).all(), [])
  })

  test('is named after the version being started, and three copies are kept', async (t) => {
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

describe('the copy of PostgreSQL tables before a migration', () => {
  const REPLIES: Migration = {
    name: 'test-0003-replies',
    up: async (db) => {
      await db.schema
        .createTable('replies')
        .addColumn('note_id', 'bigint', (column) => column.references('notes.id').notNull())
        .execute()
    },
  }
  const VIEW: Migration = {
    name: 'test-0004-view',
    up: async (db) => {
      await sql`create view texts as select text from notes`.execute(db)
      await sql`create view short_texts as select text from texts where length(text) < 4`.execute(
        db,
      )
    },
  }
  const versionOf = (number: number) => ({ name: `test-1${number}`, up: async () => {} })
  const schemas = async ({ db }: Database<NoteTables>) => {
    const { rows } = await sql<{ name: string }>`select nspname as name from pg_namespace
      where nspname like 'public%' order by oid`.execute(db)
    return rows.map(({ name }) => name)
  }

  test('becomes the database again by renaming its schema, with keys, indexes, sequences and views', {
    skip: postgres.skip,
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const before = [NOTES, INDEX, REPLIES, VIEW]
    const dropIndex: Migration = {
      name: 'test-0005-drop',
      up: async (db) => {
        await db.schema.dropIndex('notes_copies').execute()
        await db.deleteFrom('notes').execute()
      },
    }
    const first = await openNotes(t, url, before, '1.0.0')
    await addNote(first, 'one')
    await addNote(first, 'two')
    await sql`delete from notes where text = 'two'`.execute(first.db)
    const updated = await openNotes(t, url, [...before, dropIndex], '1.1.0')
    assert.deepEqual(await schemas(updated), ['public', 'public_before_1.1.0'])

    await sql`alter schema public rename to "public_after_1.1.0"`.execute(updated.db)
    await sql`alter schema "public_before_1.1.0" rename to public`.execute(updated.db)

    const again = await openNotes(t, url, before, '1.0.0')
    const notes = await again.db.selectFrom('notes').select(['id', 'text']).execute()
    assert.deepEqual(notes, [{ id: 1, text: 'one' }])
    assert.equal((await addNote(again, 'three')).id, 3)
    await addNote(again, 'four')
    await addNote(again, 'six')
    const { rows: short } = await sql`select text from short_texts order by text`.execute(again.db)
    assert.deepEqual(short, [{ text: 'one' }, { text: 'six' }])
    assert.ok(
      isUniqueViolation(await addNote(again, 'one').catch((error) => error), 'notes_text_key'),
    )
    const orphan = sql`insert into replies (note_id) values (99)`.execute(again.db)
    await assert.rejects(orphan, { code: '23503' })
    await openNotes(t, url, [...before, dropIndex], '1.1.0')
  })

  test('is made once for each version, three are kept, and none is made with migrationCopy off', {
    skip: postgres.skip,
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const applied = [NOTES]
    let database = await openNotes(t, url, applied, '1.0.0')
    for (const number of [1, 2, 3, 10]) {
      applied.push(versionOf(number))
      const nodes = [1, 2].map(() => openNotes(t, url, applied, `1.${number}.0`))
      database = (await Promise.all(nodes))[0] as Database<NoteTables>
    }
    const kept = ['1.2.0', '1.3.0', '1.10.0'].map((version) => `public_before_${version}`)
    assert.deepEqual(await schemas(database), ['public', ...kept])

    const without = { version: '1.11.0', migrationCopy: false }
    await (await openDatabase(url, [...applied, versionOf(11)], without)).close()
    assert.deepEqual(await schemas(database), ['public', ...kept])
  })

  // The pooler of the tests connects everyone as the same user.
  test('needs a privilege that the error names, and without it nothing changes', {
    skip: postgres.skip || pooled,
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const database = await openNotes(t, url, [NOTES], '1.0.0')
    const { db } = database
    const role = `limited_${new URL(url).pathname.slice(1)}`
    await sql`create role ${sql.id(role)} login password 'limited'`.execute(db)
    await sql`grant all on schema public to ${sql.id(role)}`.execute(db)
    await sql`grant all on all tables in schema public to ${sql.id(role)}`.execute(db)
    const limited = Object.assign(new URL(url), { username: role, password: 'limited' }).href

    const refused = await openNotes(t, limited, [NOTES, INDEX], '1.1.0').catch((error) => error)
    await sql`drop owned by ${sql.id(role)}`.execute(db)
    await sql`drop role ${sql.id(role)}`.execute(db)

    assert.match(
      String(refused),
      /No copy of the tables .*permission denied.* Grant CREATE on the database, or .*_MIGRATION_COPY=false/,
    )
    assert.deepEqual(await schemas(database), ['public'])
  })
})
