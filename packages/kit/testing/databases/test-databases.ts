import type { TestContext } from 'node:test'
import pg from 'pg'

/** Hands out empty databases on one PostgreSQL server. */
export type TestDatabases = { fresh(t: Pick<TestContext, 'after'>): Promise<string> }

// Both exist since pg 8, the types have not heard of them.
type Client = pg.Client & { ref(): void; unref(): void }

type Lent = { name: string; url: string; ended: boolean }

const NAME = 'plinth_test_'

/**
 * Dropping a database costs a checkpoint of 0.3 s, so databases are emptied and lent again. A
 * number is claimed with an advisory lock: test processes share one server without meeting, and
 * what a killed process held is free at once.
 */
export async function openTestDatabases(serverUrl: string): Promise<TestDatabases> {
  const admin = new pg.Client(serverUrl) as Client
  admin.on('error', () => {}) // The server is stopped before the last test process has gone.
  await admin.connect()
  admin.unref()
  const lent: Lent[] = []

  const take = async (t: Pick<TestContext, 'after'>) => {
    const database = (await findEnded(admin, lent)) ?? (await claimNext(admin, lent, serverUrl))
    await empty(database.url)
    database.ended = false
    t.after(() => {
      database.ended = true
    })
    return database.url
  }

  let queue: Promise<unknown> = Promise.resolve()
  const fresh: TestDatabases['fresh'] = (t) => {
    const turn = queue.then(() => whileRunning(admin, () => take(t)))
    queue = turn.catch(() => {})
    return turn
  }
  return { fresh }
}

/** Removes what test runs left on a server that is not ours. */
export async function dropTestDatabases(serverUrl: string): Promise<void> {
  const admin = new pg.Client(serverUrl)
  await admin.connect()
  const { rows } = await admin.query(
    `select datname as name from pg_database where datname ~ '^${NAME}[0-9]+$'`,
  )
  for (const { name } of rows)
    if (await claim(admin, Number(name.slice(NAME.length))))
      await admin.query(`drop database ${name} with (force)`)
  await admin.end()
}

// An idle connection must not keep a finished test file alive, a working one must.
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
  await createOrTakeOver(admin, name)
  const database = {
    name,
    url: Object.assign(new URL(serverUrl), { pathname: name }).href,
    ended: false,
  }
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

async function createOrTakeOver(admin: pg.Client, name: string): Promise<void> {
  const { rowCount } = await admin.query('select from pg_database where datname = $1', [name])
  if (!rowCount) await admin.query(`create database ${name}`)
  await admin.query('select pg_terminate_backend(pid) from pg_stat_activity where datname = $1', [
    name,
  ])
}

async function empty(url: string): Promise<void> {
  const client = new pg.Client(url)
  await client.connect()
  await client.query('drop schema if exists public cascade; create schema public')
  await client.end()
}
