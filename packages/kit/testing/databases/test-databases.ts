import { createHash } from 'node:crypto'
import type { TestContext } from 'node:test'
import pg from 'pg'
import type { Migration } from '../../src/database/migrate.ts'
import { openDatabase } from '../../src/database/open.ts'

/** Hands out databases on one PostgreSQL server, with the tables of the migrations given. */
export type TestDatabases = {
  fresh(t: Pick<TestContext, 'after'>, migrations: Migration[]): Promise<string>
}

// Both exist since pg 8, but its types lack them.
type Client = pg.Client & { ref(): void; unref(): void }

type Lent = { name: string; url: string; ended: boolean }

const NAME = 'plinth_test_'

/**
 * Databases are copies, which take 20 ms; the migrations of a service take 300. Each database has a
 * number that is claimed with an advisory lock: test processes share one server without collisions,
 * and the numbers of a killed process are free at once.
 */
export async function openTestDatabases(serverUrl: string): Promise<TestDatabases> {
  const admin = new pg.Client(serverUrl) as Client
  admin.on('error', () => {}) // The server stops before the last test process ends.
  await admin.connect()
  admin.unref()
  const lent: Lent[] = []

  const take: TestDatabases['fresh'] = async (t, migrations) => {
    const original =
      migrations.length === 0 ? 'template0' : await migrated(admin, serverUrl, migrations)
    const database = (await findEnded(admin, lent)) ?? (await claimNext(admin, lent, serverUrl))
    await drop(admin, database.name)
    await admin.query(`create database ${database.name} template ${original} strategy file_copy`)
    database.ended = false
    t.after(() => {
      database.ended = true
    })
    return database.url
  }

  let queue: Promise<unknown> = Promise.resolve()
  const fresh: TestDatabases['fresh'] = (t, migrations) => {
    const turn = queue.then(() => whileRunning(admin, () => take(t, migrations)))
    queue = turn.catch(() => {})
    return turn
  }
  return { fresh }
}

/** Removes the databases that test runs left on a server we did not start. */
export async function dropTestDatabases(serverUrl: string): Promise<void> {
  const admin = new pg.Client(serverUrl)
  await admin.connect()
  const { rows } = await admin.query(
    `select datname as name from pg_database where datname ~ '^${NAME}[0-9]+$'`,
  )
  for (const { name } of rows)
    if (await claim(admin, Number(name.slice(NAME.length)))) await drop(admin, name)
  const { rows: originals } = await admin.query(
    `select datname as name from pg_database where datname ~ '^${NAME}of_'`,
  )
  for (const { name } of originals) await drop(admin, name)
  await admin.end()
}

/** The database with these migrations that others are copied from; created on first use. */
async function migrated(admin: pg.Client, serverUrl: string, migrations: Migration[]) {
  const text = migrations.map(({ name, up, indexes }) => `${name} ${up} ${indexes}`).join()
  const name = `${NAME}of_${createHash('sha256').update(text).digest('hex').slice(0, 16)}`
  const isThere = async () =>
    (await admin.query('select from pg_database where datname = $1', [name])).rowCount
  if (await isThere()) return name
  await admin.query('select pg_advisory_lock(hashtext($1))', [name])
  try {
    if (await isThere()) return name
    // It gets its name when it is complete: a killed process must not leave half a database.
    const draft = `${name}_draft`
    await drop(admin, draft)
    await admin.query(`create database ${draft}`)
    const { close } = await openDatabase(urlOf(serverUrl, draft), migrations)
    await close()
    await admin.query(`alter database ${draft} rename to ${name}`)
    return name
  } finally {
    await admin.query('select pg_advisory_unlock(hashtext($1))', [name])
  }
}

async function drop(admin: pg.Client, name: string): Promise<void> {
  await admin.query(`drop database if exists ${name} with (force)`)
}

function urlOf(serverUrl: string, name: string): string {
  return Object.assign(new URL(serverUrl), { pathname: name }).href
}

// An idle connection must not keep a finished test file alive, but a busy one must.
async function whileRunning<T>(client: Client, work: () => Promise<T>): Promise<T> {
  client.ref()
  try {
    return await work()
  } finally {
    client.unref()
  }
}

async function findEnded(admin: pg.Client, lent: Lent[]): Promise<Lent | undefined> {
  const ended = lent.filter((database) => database.ended)
  if (ended.length === 0) return undefined
  const { rows } = await admin.query(
    'select distinct datname as name from pg_stat_activity where datname = any($1)',
    [ended.map((database) => database.name)],
  )
  const busy = new Set(rows.map((row) => row.name))
  return ended.find((database) => !busy.has(database.name))
}

async function claimNext(admin: pg.Client, lent: Lent[], serverUrl: string): Promise<Lent> {
  const mine = new Set(lent.map((database) => database.name))
  let number = 1
  while (mine.has(NAME + number) || !(await claim(admin, number))) number += 1
  const name = NAME + number
  const database = { name, url: urlOf(serverUrl, name), ended: false }
  lent.push(database)
  return database
}

async function claim(admin: pg.Client, number: number): Promise<boolean> {
  const { rows } = await admin.query(
    `select pg_try_advisory_lock(hashtext('${NAME}'), $1) as won`,
    [number],
  )
  return rows[0].won
}
