import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { describe, test } from 'node:test'
import pg from 'pg'
import { until } from '../../../../test/until.ts'
import type { Migration } from '../../src/database/migrate.ts'
import { openDatabase } from '../../src/database/open.ts'
import { engines, postgres, sqlite } from './engines.ts'
import { startPostgres } from './postgres.ts'

type Things = { things: { name: string } }

test('sqlite: two databases of one test are two files', async (t) => {
  const [first, second] = [await sqlite.freshUrl(t), await sqlite.freshUrl(t)]

  assert.match(first, /^sqlite:\//)
  assert.notEqual(first, second)
})

const things: Migration = {
  name: 'test-0001-things',
  up: (db) => db.schema.createTable('things').addColumn('name', 'text').execute(),
}
const migrations = [things]

for (const engine of engines)
  test(
    `${engine.name}: databases with the same migrations are alike but separate`,
    engine.options,
    async (t) => {
      const [one, other] = [
        await engine.freshUrl(t, migrations),
        await engine.freshUrl(t, migrations),
      ]
      const applied: Migration[] = [
        { name: things.name, up: () => assert.fail('it was applied before') },
      ]
      const opened = await Promise.all(
        [one, other].map((url) => openDatabase<Things>(url, applied)),
      )
      t.after(() => Promise.all(opened.map(({ close }) => close())))
      const [first, second] = opened

      await first?.db.insertInto('things').values({ name: 'a' }).execute()

      assert.equal((await first?.db.selectFrom('things').selectAll().execute())?.length, 1)
      assert.equal((await second?.db.selectFrom('things').selectAll().execute())?.length, 0)
    },
  )

describe('postgres', { skip: postgres.skip }, () => {
  test('two databases of one test do not share tables', async (t) => {
    const urls = await Promise.all([postgres.freshUrl(t), postgres.freshUrl(t)])

    for (const url of urls) await query(url, 'create table things (id int)')

    assert.notEqual(urls[0], urls[1])
  })

  test('a database is empty although another test used it before', async (t) => {
    const url = await postgres.freshUrl(t)

    const tables = await query(url, "select from pg_tables where schemaname = 'public'")

    assert.equal(tables.rowCount, 0)
  })

  test('a database that still has connections is not reused', async (t) => {
    const ends: (() => void)[] = []
    const held = await postgres.freshUrl({ after: (end: () => void) => ends.push(end) } as never)
    for (const end of ends) end()
    const client = new pg.Client(held)
    await client.connect()
    t.after(() => client.end())
    await client.query('begin')

    const next = await postgres.freshUrl(t)

    assert.notEqual(next, held)
  })

  test('commits are durable: fsync is on', async (t) => {
    const url = await postgres.freshUrl(t)

    const { rows } = await query(url, 'show fsync')

    assert.equal(rows[0].fsync, 'on')
  })
})

describe('a server of our own', {
  skip: postgres.skip || (process.platform !== 'linux' && 'needs Linux'),
}, () => {
  test('stops and leaves no folder behind when its parent is killed', async () => {
    const script = `
      import { startPostgres } from ${JSON.stringify(import.meta.resolve('./postgres.ts'))}
      const { pid } = await startPostgres()
      console.log(pid)
      process.kill(process.pid, 'SIGKILL')`

    const child = spawnSync(process.execPath, ['--input-type=module', '-e', script])

    const supervisor = Number(child.stdout.toString())
    await until(() => !existsSync(`/proc/${supervisor}`))
    assert.equal(child.signal, 'SIGKILL')
  })

  test('keeps running when its output is not read', async (t) => {
    const server = await startPostgres()
    t.after(() => server.stop())
    const saying = "for i in 1..20000 loop raise log '%', repeat('x', 100); end loop"

    await query(server.url, `do $$ begin ${saying}; end $$`)
    const { rows } = await query(server.url, 'select 1 as one')

    assert.equal(rows[0].one, 1)
  })
})

async function query(url: string, sql: string) {
  const client = new pg.Client(url)
  await client.connect()
  const result = await client.query(sql)
  await client.end()
  return result
}
