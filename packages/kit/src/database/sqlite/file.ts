import {
  chmodSync,
  closeSync,
  lstatSync,
  openSync,
  readdirSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
} from 'node:fs'
import { open } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { setTimeout } from 'node:timers/promises'
import SqliteDatabase from 'better-sqlite3'
import type { CompiledQuery, QueryResult } from 'kysely'
import { StartError } from '../../problems.ts'
import { giveFileToOwner, inDataFolder } from '../../runtime/data-folder.ts'

export type Sqlite = InstanceType<typeof SqliteDatabase>

const OPENING_MS = 5_000

/**
 * WAL with a full sync on each commit: acknowledged writes survive a power cut. `setting` is named when the
 * file cannot be used.
 */
export function openSqlite(file: string, setting = DATABASE_SETTING): Sqlite {
  if (file === ':memory:') return configured(file)
  return inDataFolder(dirname(file), `SUITE_DATA or ${setting}`, () => {
    const reason = reasonToRefuse(file)
    if (reason !== undefined)
      throw new StartError(`${file} ${reason}. Choose another file with ${setting}.`)
    createForOwner(file)
    const sqlite = configured(file)
    // Only now is it known to be a database, and not some other file that a mistyped setting names.
    const target = realpathSync(file)
    for (const path of [target, `${target}-wal`, `${target}-shm`]) hideFromOthers(path)
    return sqlite
  })
}

/** For callers that do not know which service the database belongs to. */
const DATABASE_SETTING = '…_DATABASE_URL'

const OWNER_ONLY = 0o600
const ROOT = 0

/**
 * A file may be missing, or be a link to a database on another disk. A link is followed only if root made it, or
 * the owner of the file: any other could lead a command that root runs to a file of root's.
 */
function reasonToRefuse(file: string): string | undefined {
  const named = lstatSync(file, { throwIfNoEntry: false })
  if (!named) return undefined
  const target = statSync(file, { throwIfNoEntry: false })
  if (!target) return 'is a link to nothing'
  if (target.isDirectory()) return 'is a folder'
  if (!target.isFile()) return 'is not a regular file'
  if (named.uid !== target.uid && named.uid !== ROOT) return 'is a link to a file of another user'
  return undefined
}

/** SQLite would make it readable for others. Its WAL and shared-memory files inherit the mode. */
function createForOwner(file: string): void {
  try {
    const descriptor = openSync(file, 'ax', OWNER_ONLY)
    giveFileToOwner(descriptor, dirname(file))
    closeSync(descriptor)
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'EEXIST') throw error
  }
}

/** Earlier versions left their files readable. Files of another user are left alone. */
function hideFromOthers(path: string): void {
  const stats = lstatSync(path, { throwIfNoEntry: false })
  if (stats?.isFile() && (stats.mode & 0o077) !== 0 && stats.uid === process.getuid?.())
    chmodSync(path, OWNER_ONLY)
}

function configured(file: string): Sqlite {
  const sqlite = new SqliteDatabase(file, { timeout: OPENING_MS })
  sqlite.pragma('journal_mode = WAL')
  sqlite.pragma('synchronous = FULL')
  // 16 MB, so that a frequently written page is copied from the WAL to the file once for many writes.
  sqlite.pragma('wal_autocheckpoint = 4000')
  sqlite.pragma('foreign_keys = ON')
  // SQLite's own waiting would block the event loop; `whenFree` waits instead.
  sqlite.pragma('busy_timeout = 0')
  return sqlite
}

/** Opens a read-only connection to a file that is already open for writing. */
export function openSqliteToRead(file: string): Sqlite {
  return new SqliteDatabase(file, { readonly: true, timeout: 0 })
}

const COPIES = 3

/**
 * Copies the file into the same folder before the schema changes for this version, and keeps the two
 * previous copies. Call it under the write lock. A copy gets its final name only when it is complete.
 */
export async function backUpSqlite(file: string, version: string): Promise<void> {
  if (file === ':memory:') return
  const copy = `${file}.before-${version}`
  const part = `${copy}.part`
  rmSync(part, { force: true })
  createForOwner(part)
  const source = new SqliteDatabase(file, { readonly: true })
  try {
    await source.backup(part)
  } finally {
    source.close()
  }
  const written = await open(part, 'r+')
  await written.sync().finally(() => written.close())
  renameSync(part, copy)
  for (const old of copiesOf(file).slice(COPIES)) rmSync(old)
}

/** Newest first. */
function copiesOf(file: string): string[] {
  return readdirSync(dirname(file))
    .filter((name) => name.startsWith(`${basename(file)}.before-`) && !name.endsWith('.part'))
    .map((name) => join(dirname(file), name))
    .map((path) => ({ path, at: statSync(path).mtimeMs }))
    .sort((left, right) => right.at - left.at)
    .map(({ path }) => path)
}

const BUSY_MS = 10_000

/** Waits, without blocking the event loop, while another process has the file locked. */
export async function whenFree<R>(work: () => R): Promise<R> {
  for (let waited = 0; ; ) {
    try {
      return work()
    } catch (error) {
      if (!isBusy(error) || waited > BUSY_MS) throw error
    }
    const pause = 1 + Math.random() * 5
    await setTimeout(pause)
    waited += pause
  }
}

export function isBusy(error: unknown): boolean {
  return /^SQLITE_BUSY/.test((error as { code?: string }).code ?? '')
}

export type RunStatement = (query: CompiledQuery) => QueryResult<unknown>

const STATEMENTS = 500

/**
 * Compiling a statement costs several times what a read by primary key does, so each text is
 * compiled once. SQLite recompiles it by itself when the schema has changed.
 */
export function statementRunner(database: Sqlite): RunStatement {
  const compiled = new Map<string, ReturnType<Sqlite['prepare']>>()
  const compile = (sql: string) => {
    const [oldest] = compiled.size < STATEMENTS ? [] : compiled.keys()
    if (oldest !== undefined) compiled.delete(oldest)
    const statement = database.prepare(sql)
    compiled.set(sql, statement)
    return statement
  }
  return ({ sql, parameters }) => {
    const statement = compiled.get(sql) ?? compile(sql)
    if (statement.reader) return { rows: statement.all(parameters) }
    const { changes, lastInsertRowid } = statement.run(parameters)
    return { rows: [], numAffectedRows: BigInt(changes), insertId: BigInt(lastInsertRowid) }
  }
}
