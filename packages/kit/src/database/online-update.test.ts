import assert from 'node:assert/strict'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { until } from '../../../../test/until.ts'
import { pooled, postgres } from '../../testing/databases/engines.ts'
import { addNote, NOTES, type NoteTables, openNotes } from '../../testing/databases/notes.ts'
import type { Migration } from './migrate.ts'
import { type Database, openDatabase } from './open.ts'

const COLOURS: Migration = {
  name: 'test-0002-colours',
  up: async (db) => {
    await sql`alter table notes add column colour text`.execute(db)
  },
  indexes: () => ({ notes_colour: 'notes (colour, id)', notes_copies: 'notes (copies)' }),
}

const copiesOnly = () => ({ notes_copies: 'notes (copies)' })

const TABLES: Migration = {
  name: 'test-0001-tables',
  up: async (db) => {
    await sql`create table paused (id bigint)`.execute(db)
    await sql`create table written_later (id bigint)`.execute(db)
  },
}

/** A node of the older version, whose statements may not take long. */
async function openOlder(t: TestContext, url: string, migrations = [NOTES]) {
  const older = await openDatabase<NoteTables>(url, migrations, {
    version: '1.0.0',
    statementMs: 2_000,
  })
  t.after(() => older.close())
  return older
}

const update = (t: TestContext, url: string, migrations = [NOTES, COLOURS]) =>
  openNotes(t, url, migrations, '1.1.0')

async function connectTo(t: TestContext, url: string): Promise<pg.Client> {
  const client = new pg.Client(url)
  client.on('error', () => {})
  await client.connect()
  t.after(() => client.end())
  return client
}

/** A concurrent index build waits for it, and so for its `commit`. */
async function openSnapshot(t: TestContext, url: string): Promise<pg.Client> {
  const client = await connectTo(t, url)
  await client.query('begin isolation level repeatable read')
  await client.query('select 1')
  return client
}

/** Waits until a statement with this text waits for a lock; returns its process. */
async function untilWaiting({ db }: Database<NoteTables>, text: string): Promise<number> {
  const read = async () => {
    const { rows } = await sql<{ pid: number }>`select pid from pg_stat_activity
      where datname = current_database() and strpos(query, ${text}) > 0
        and wait_event_type = 'Lock'`.execute(db)
    return rows[0]?.pid ?? 0
  }
  return until(read, (pid) => pid !== 0)
}

const BUILD = 'create index concurrently'

async function indexesOf({ db }: Database<NoteTables>): Promise<Record<string, boolean>> {
  const { rows } = await sql<{ name: string; isValid: boolean }>`
    select relname as name, indisvalid as "isValid" from pg_index
    join pg_class on pg_class.oid = indexrelid
    where indrelid = 'notes'::regclass and not indisunique order by name`.execute(db)
  return Object.fromEntries(rows.map(({ name, isValid }) => [name, isValid]))
}

const BUILT = { notes_colour: true, notes_copies: true }

describe('while a new version updates tables on PostgreSQL', { skip: postgres.skip }, () => {
  test('nodes of the older version write during the copy, which has the moment when it began', async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url, [NOTES, TABLES])
    await addNote(older, 'before')
    const pause = await connectTo(t, url)
    await pause.query('begin')
    await pause.query('lock table paused in access exclusive mode')

    const updating = update(t, url, [NOTES, TABLES, COLOURS])
    await untilWaiting(older, '"public_before_1.1.0"."paused"')
    await addNote(older, 'meanwhile')
    await sql`insert into written_later values (1)`.execute(older.db)
    await pause.query('commit')
    const { db } = await updating

    const copied = await sql`select text from "public_before_1.1.0".notes
      union all select 'later' from "public_before_1.1.0".written_later`.execute(db)
    assert.deepEqual(copied.rows, [{ text: 'before' }])
    const notes = await db.selectFrom('notes').select('text').orderBy('id').execute()
    assert.deepEqual(notes, [{ text: 'before' }, { text: 'meanwhile' }])
  })

  test('nodes of the older version write while an index is built, and the new one waits for it', async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    const snapshot = await openSnapshot(t, url)

    const updating = update(t, url)
    await untilWaiting(older, BUILD)
    await addNote(older, 'meanwhile')
    await older.db.updateTable('notes').set({ copies: 2 }).execute()
    assert.deepEqual(await indexesOf(older), { notes_colour: false })
    await snapshot.query('commit')
    const updated = await updating

    assert.deepEqual(await indexesOf(updated), BUILT)
    const notes = await updated.db.selectFrom('notes').select(['text', 'copies']).execute()
    assert.deepEqual(notes, [{ text: 'meanwhile', copies: 2 }])
  })

  test('nodes of the older version write while another transaction reads what is to be changed', {
    tags: ['all'],
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    const reading = await connectTo(t, url)
    await reading.query('begin')
    await reading.query('select * from notes')

    const updating = update(t, url)
    await untilWaiting(older, 'alter table notes')
    await addNote(older, 'meanwhile')
    await reading.query('commit')
    const { db } = await updating

    const notes = await sql`select text, colour from notes`.execute(db)
    assert.deepEqual(notes.rows, [{ text: 'meanwhile', colour: null }])
  })

  test('nodes that start at once build every index once', async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    const snapshot = await openSnapshot(t, url)

    const updating = [1, 2, 3].map(() => update(t, url))
    await untilWaiting(older, BUILD)
    await snapshot.query('commit')
    await Promise.all(updating)

    assert.deepEqual(await indexesOf(older), BUILT)
  })

  test('a copy stays when the migration after it fails, and the next start makes it again', async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    const broken = { name: COLOURS.name, up: () => Promise.reject(new Error('broken')) }
    const copied = () => sql`select text from "public_before_1.1.0".notes`.execute(older.db)
    await addNote(older, 'one')

    await assert.rejects(update(t, url, [NOTES, broken]), /broken/)
    assert.equal((await copied()).rows.length, 1)
    await addNote(older, 'two')
    await update(t, url)

    assert.equal((await copied()).rows.length, 2)
  })
})

describe('an index build on PostgreSQL', { skip: postgres.skip }, () => {
  test('that was killed is done again at the next start', async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    const snapshot = await openSnapshot(t, url)
    const updating = update(t, url)
    const failed = assert.rejects(updating, /cannot be used/)
    const pid = await untilWaiting(older, BUILD)
    await sql`select pg_terminate_backend(${pid})`.execute(older.db)
    await failed
    assert.deepEqual(await indexesOf(older), { notes_colour: false })
    await snapshot.query('commit')

    await update(t, url)

    assert.deepEqual(await indexesOf(older), BUILT)
  })

  // Needs more connections than the pooler of the tests has.
  test('that a killed node left to the server is waited for, and the rest follows', {
    skip: pooled,
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    await update(t, url, [NOTES, { name: COLOURS.name, up: COLOURS.up }])
    const snapshot = await openSnapshot(t, url)
    const killed = await connectTo(t, url)
    const building = killed.query(`${BUILD} notes_colour on notes (colour, id)`)
    await untilWaiting(older, BUILD)

    const restarting = update(t, url)
    await untilWaiting(older, 'lock table "notes"')
    await snapshot.query('commit')
    await Promise.all([building, restarting])

    assert.deepEqual(await indexesOf(older), BUILT)
  })

  test('takes as long as it needs, whatever limit the service and the database have', {
    tags: ['all'],
  }, async (t) => {
    const url = await postgres.freshUrl(t, [])
    const older = await openOlder(t, url)
    await sql`do $$ begin
      execute format('alter database %I set statement_timeout = 1000', current_database());
    end $$`.execute(older.db)
    const writing = await connectTo(t, url)
    await writing.query('begin')
    await writing.query('set local statement_timeout = 0')
    await writing.query(`insert into notes (text, copies) values ('uncommitted', 1)`)

    const slow: Migration = { ...COLOURS, up: async () => {}, indexes: copiesOnly }
    const options = { version: '1.1.0', statementMs: 1_000 }
    const updating = openDatabase<NoteTables>(url, [NOTES, slow], options)
    t.after(async () => (await updating).close())
    await untilWaiting(older, 'create index')
    await writing.query('select pg_sleep(1.5)')
    await writing.query('commit')
    await updating

    assert.deepEqual(await indexesOf(older), { notes_copies: true })
  })
})
