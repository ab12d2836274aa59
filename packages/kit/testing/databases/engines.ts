import { copyFileSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import type { Migration } from '../../src/database/migrate.ts'
import { openDatabase } from '../../src/database/open.ts'
import { startPostgres } from './postgres.ts'
import { findPostgresPrograms } from './postgres-programs.ts'
import { openTestDatabases, type TestDatabases } from './test-databases.ts'

/** One of the two databases every repository must work on. `skip` is false, or the reason it cannot run. */
export type TestEngine = {
  name: 'sqlite' | 'postgres'
  skip: string | false
  /** For `describe` or `test`: the reason to skip it, and whether only `npm run test:all` runs it. */
  options: { skip: string | false; tags: string[] }
  /** The URL of a database that belongs to this test alone: empty, or migrated once and copied. */
  freshUrl(t: Pick<TestContext, 'after'>, migrations?: Migration[]): Promise<string>
}

export const sqlite: TestEngine = {
  name: 'sqlite',
  skip: false,
  options: { skip: false, tags: [] },
  freshUrl: async (_t, migrations = []) => {
    const file = join(sqliteFolder(), nextName())
    if (migrations.length > 0) copyFileSync(await migratedFile(migrations), file)
    return `sqlite:${file}`
  },
}

const noPostgres = postgresSkipReason()

export const postgres: TestEngine = {
  name: 'postgres',
  skip: noPostgres,
  options: { skip: noPostgres, tags: [] },
  freshUrl: async (t, migrations = []) =>
    throughPooler(await (await databases()).fresh(t, migrations)),
}

/** Why to skip a test of something that a pooler hides or does itself, or `false`. */
export const pooled = process.env.TEST_POSTGRES_POOLER ? 'not behind a pooler' : false

/**
 * `for (const engine of bothEngines) describe(`on ${engine.name}`, engine.options, …)` for what the two
 * engines do differently: transactions, races, leases, migrations. With a pooler, only the engine behind it.
 */
export const bothEngines = pooled ? [postgres] : [sqlite, postgres]

/** The same for everything else: `npm test` runs it on SQLite, `npm run test:all` on PostgreSQL as well. */
export const engines = bothEngines.map((engine) =>
  engine === postgres ? { ...engine, options: { skip: noPostgres, tags: ['all'] } } : engine,
)

/** The given engines, with databases that have the tables of these migrations. */
export function enginesWith(migrations: Migration[], given = engines): TestEngine[] {
  return given.map((engine) => ({
    ...engine,
    freshUrl: (t, other = migrations) => engine.freshUrl(t, other),
  }))
}

function postgresSkipReason(env = process.env): string | false {
  if (env.TEST_POSTGRES_MISSING) return env.TEST_POSTGRES_MISSING
  if (env.TEST_POSTGRES_URL || findPostgresPrograms()) return false
  return 'no PostgreSQL: apt-get install postgresql, or set TEST_POSTGRES_URL'
}

// `npm test` starts one server for all test files; a file run by itself starts its own.
let opening: Promise<TestDatabases> | undefined

function databases(url = process.env.TEST_POSTGRES_URL): Promise<TestDatabases> {
  opening ??= Promise.resolve(url ?? startPostgres().then((server) => server.url)).then(
    openTestDatabases,
  )
  return opening
}

/** With TEST_POSTGRES_POOLER (host and port), services connect to that instead of the server. */
function throughPooler(url: string, pooler = process.env.TEST_POSTGRES_POOLER): string {
  return pooler ? Object.assign(new URL(url), { host: pooler }).href : url
}

// Removed when the process exits, not when the test ends: a test's own clean-up, which still writes to
// the database while closing it, runs after ours.
let folder: string | undefined

function sqliteFolder(): string {
  if (folder) return folder
  const made = mkdtempSync(join(tmpdir(), 'plinth-sqlite-'))
  process.once('exit', () => rmSync(made, { recursive: true, force: true }))
  folder = made
  return made
}

let count = 0

function nextName(): string {
  count += 1
  return `test-${count}.db`
}

const files = new Map<Migration[], Promise<string>>()

function migratedFile(migrations: Migration[]): Promise<string> {
  const make = async () => {
    const file = join(sqliteFolder(), nextName())
    const { close } = await openDatabase(`sqlite:${file}`, migrations)
    await close()
    return file
  }
  return files.getOrInsertComputed(migrations, make)
}
