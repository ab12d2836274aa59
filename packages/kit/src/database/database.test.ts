import assert from 'node:assert/strict'
import { readdirSync, readlinkSync } from 'node:fs'
import { describe, type TestContext, test } from 'node:test'
import { sql } from 'kysely'
import pg from 'pg'
import { bothEngines, pooled, postgres, sqlite } from '../../testing/databases/engines.ts'
import { addNote, NOTES, type NoteTables, openNotes } from '../../testing/databases/notes.ts'
import { StartError } from '../problems.ts'
import { type Db, forUpdate, isUniqueViolation } from './engine.ts'
import { kitMigrations } from './leases/leases.repository.ts'
import { type Database, openDatabase } from './open.ts'
import { inTransaction } from './transaction.ts'

test('a database without a table that a function needs is refused by the compiler', () => {
  type Tagged = NoteTables & { tags: { id: number } }
  const countTags = (db: Db<Tagged>) => db.selectFrom('tags').selectAll()
  const isRefused = (db: Db<NoteTables>) =>
    // @ts-expect-error There is no table of tags.
    countTags(db)

  assert.equal(typeof isRefused, 'function')
})

for (const engine of bothEngines)
  describe(`a database on ${engine.name}`, engine.options, () => {
    test('is ready once it is open, and returns numbers as numbers', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t), [...kitMigrations, NOTES])

      const first = await addNote(database, 'a')
      const second = await addNote(database, 'b')

      assert.deepEqual([first.id, second.id], [1, 2])
      assert.equal(await database.ping(), true)
      assert.equal(database.engine, engine.name)
    })

    test('recognises a unique violation, whatever the driver calls it', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t))
      await addNote(database, 'once')

      const error = await addNote(database, 'once').catch((thrown) => thrown)

      assert.ok(isUniqueViolation(error))
      assert.ok(isUniqueViolation(error, 'text'))
      assert.equal(isUniqueViolation(error, 'copies'), false)
      assert.equal(isUniqueViolation(new Error('other')), false)
    })

    test('a transaction that throws leaves nothing behind', async (t) => {
      const database = await openNotes(t, await engine.freshUrl(t))

      const work = inTransaction(database.db, async (db) => {
        await db.insertInto('notes').values({ text: 'gone', copies: 1 }).execute()
        throw new Error('no')
      })

      await assert.rejects(work, /no/)
      assert.deepEqual(await database.db.selectFrom('notes').selectAll().execute(), [])
    })

    test('a transaction that throws does not undo others that run at the same time', async (t) => {
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

    test('conflicting transactions of two nodes are all applied', async (t) => {
      const url = await engine.freshUrl(t)
      const nodes = [await openNotes(t, url), await openNotes(t, url)]
      await addNote(nodes[0] as Database<NoteTables>, 'count')

      await Promise.all(Array.from({ length: 20 }, (_, i) => increment(nodes[i % 2])))

      const row = await nodes[0]?.db.selectFrom('notes').select('copies').executeTakeFirst()
      assert.equal(row?.copies, 21)
    })
  })

test('the error for a database that does not answer names it, without its password', async () => {
  const opening = openDatabase('postgres://me:hunter2@127.0.0.1:1/shop', [NOTES])

  const error = await opening.catch((thrown) => thrown)

  assert.ok(error instanceof StartError)
  assert.match(error.message, /"shop" at 127\.0\.0\.1:1 cannot be used: .*ECONNREFUSED/)
  assert.doesNotMatch(error.message, /hunter2/)
})

for (const encoding of ['LATIN1', 'SQL_ASCII']) {
  const skip = postgres.skip || pooled

  test(`a new PostgreSQL database with the encoding ${encoding} is refused`, {
    skip,
  }, async (t) => {
    const url = await databaseWith(t, encoding)

    const refused = await openDatabase(url, kitMigrations).catch((error) => error)

    assert.ok(refused instanceof StartError)
    assert.match(
      refused.message,
      new RegExp(`" at .+ cannot be used: its encoding is ${encoding}, not UTF8`),
    )
  })

  test(`a PostgreSQL database with the encoding ${encoding} that is in use keeps working`, {
    skip,
  }, async (t) => {
    const url = await databaseWith(t, encoding)
    await runSql(url, 'create table schema_migrations (name varchar(200) primary key)')

    const { ping, close } = await openDatabase(url, kitMigrations)

    await ping()
    await close()
  })
}

async function databaseWith(t: TestContext, encoding: string): Promise<string> {
  const url = new URL(await postgres.freshUrl(t))
  const name = `${url.pathname.slice(1)}_other`
  const server = Object.assign(new URL(url), { pathname: 'postgres' }).href
  const options = `encoding '${encoding}' locale 'C' template template0`
  await runSql(server, `create database ${name} ${options}`)
  t.after(() => runSql(server, `drop database ${name} with (force)`))
  return Object.assign(url, { pathname: name }).href
}

async function runSql(url: string, statement: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query(statement).finally(() => client.end())
}

test('a transaction rolled back by SQLite itself, as on a full disk, keeps its cause and does not block others', async (t) => {
  const database = await openNotes(t, await sqlite.freshUrl(t))

  const lost = inTransaction(database.db, async (db) => {
    await sql`rollback`.execute(db)
    throw new Error('the disk is full')
  })

  await assert.rejects(lost, /the disk is full/)
  const kept = await inTransaction(database.db, (db) => addNote({ ...database, db }, 'kept'))
  assert.equal(kept.id, 1)
})

/** Reads, then writes: correct only if no other transaction wrote in between. */
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

/** SQLite deletes its temporary files as soon as they are open. */
function openTemporaryFiles(): string[] {
  return readdirSync('/proc/self/fd')
    .map((descriptor) => {
      try {
        return readlinkSync(`/proc/self/fd/${descriptor}`)
      } catch {
        return '' // That of the folder itself.
      }
    })
    .filter((path) => path.includes('etilqs'))
}

test('a transaction on SQLite that changes many pages needs no temporary file', {
  skip: process.platform !== 'linux' && 'reads /proc',
}, async (t) => {
  const database = await openNotes(t, await sqlite.freshUrl(t))
  const long = 'x'.repeat(90_000)
  for (const text of ['a', 'b', 'c']) await addNote(database, text + long)

  const open = await inTransaction(database.db, async (transaction) => {
    await sql`update notes set text = text || 'y'`.execute(transaction)
    await sql`update notes set text = text || 'z'`.execute(transaction)
    return openTemporaryFiles()
  })

  assert.deepEqual(open, [])
})
