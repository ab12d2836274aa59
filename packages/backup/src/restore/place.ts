import { constants, existsSync } from 'node:fs'
import { link, mkdir, open, readdir, rename, rm, rmdir, stat } from 'node:fs/promises'
import { basename, dirname, join } from 'node:path'
import { giveFolderToOwner } from '@plinth/kit/runtime'
import { fileOf, openConnection } from '../databases/open.ts'
import { createMark } from '../databases/rows.repository.ts'
import { tableNames } from '../databases/schema.repository.ts'
import { MARK, quoted } from '../databases/tables.ts'
import { BackupError } from '../faults.ts'
import type { ServiceData } from '../sources/service-data.ts'

/** The target of a restore: a database or a folder of files. */
export type Place = {
  name: string
  isEmpty(): Promise<boolean>
  /** Where `setAside` moves the data. */
  asideOf(stamp: string): string
  /**
   * Moves existing data aside; a database is left with the restore mark. A failure leaves everything where it was.
   * After a kill it completes what was begun.
   */
  setAside(stamp: string): Promise<void>
  /** Removes what a restore created in an empty place. */
  clear(): Promise<void>
  /** Undoes `setAside`, and whatever came after it. */
  putBack(stamp: string): Promise<void>
}

export function placesOf({ name, database, root }: ServiceData): Place[] {
  const places: Place[] = []
  if (database) {
    const file = fileOf(database.url)
    places.push(file === undefined ? postgresPlace(name, database.url) : filePlace(file))
  }
  if (root !== undefined) places.push(folderPlace(root))
  return places
}

const aside = (stamp: string) => `.before-restore-${stamp}`

/** The WAL and its index belong to one database file: next to another they would corrupt it. */
const BESIDE = ['-wal', '-shm', '-journal', '-reserve']

function filePlace(file: string): Place {
  const keptAt = (stamp: string) => join(dirname(file), aside(stamp), basename(file))
  return {
    name: file,
    isEmpty: async () => !existsSync(file),
    // The file exists at every moment: a service that found none would create a new database.
    asideOf: (stamp) => dirname(keptAt(stamp)),
    setAside: async (stamp) => {
      const kept = keptAt(stamp)
      const isBegun = existsSync(kept)
      if (isBegun && !(await areSame(file, kept))) return
      await mkdir(dirname(kept), { recursive: true, mode: 0o700 })
      giveFolderToOwner(dirname(kept))
      const marked = `${file}.marked`
      await rm(marked, { force: true })
      const connection = await openConnection(`sqlite:${marked}`)
      await createMark(connection).finally(() => connection.close())
      if (!isBegun) await link(file, kept)
      await rename(marked, file).catch(async (error) => {
        await rm(kept, { force: true })
        // It still holds the copies of other files, or is gone; the error to report is the first one.
        await rmdir(dirname(kept)).catch(() => {})
        throw error
      })
    },
    clear: async () => {
      for (const end of ['', ...BESIDE]) await rm(file + end, { force: true })
    },
    putBack: async (stamp) => {
      for (const end of BESIDE) await rm(file + end, { force: true })
      await rename(keptAt(stamp), file)
      await rmdir(dirname(keptAt(stamp))).catch(() => {})
    },
  }
}

/** Whether two names lead to one file. */
async function areSame(file: string, other: string): Promise<boolean> {
  const [one, two] = await Promise.all([stat(file).catch(() => undefined), stat(other)])
  return one?.ino === two.ino
}

/** Uploads in flight and our own files, which are not part of the stored data. */
const NOT_STORED = /^\.(incoming|before-restore-|backup-|restoring-|restore_in_progress)/

/** Marks an unfinished restore in a folder without a database. */
const FOLDER_MARK = `.${MARK}`

function folderPlace(root: string): Place {
  const stored = async () => {
    const names = existsSync(root) ? await readdir(root) : []
    return names.filter((name) => !NOT_STORED.test(name))
  }
  const keptAt = (stamp: string) => join(root, aside(stamp))
  const bringBack = async (stamp: string, names: string[]) => {
    for (const name of names) await rename(join(keptAt(stamp), name), join(root, name))
    await rmdir(keptAt(stamp)).catch(() => {})
  }
  return {
    name: root,
    isEmpty: async () => (await stored()).length === 0,
    asideOf: keptAt,
    setAside: async (stamp) => {
      await mkdir(keptAt(stamp), { recursive: true, mode: 0o700 })
      giveFolderToOwner(keptAt(stamp))
      const moved: string[] = []
      try {
        for (const name of await stored()) {
          await rename(join(root, name), join(keptAt(stamp), name))
          moved.push(name)
        }
      } catch (error) {
        await bringBack(stamp, moved)
        throw error
      }
    },
    clear: async () => {
      for (const name of await stored()) await rm(join(root, name), { recursive: true })
    },
    putBack: async (stamp) => {
      for (const name of await stored()) await rm(join(root, name), { recursive: true })
      await bringBack(stamp, await readdir(keptAt(stamp)))
    },
  }
}

export async function markFolder(root: string): Promise<void> {
  await mkdir(root, { recursive: true, mode: 0o700 })
  // A symlink in its place must not make root open a file elsewhere.
  const { O_WRONLY, O_CREAT, O_NOFOLLOW } = constants
  const file = await open(join(root, FOLDER_MARK), O_WRONLY | O_CREAT | O_NOFOLLOW, 0o600)
  await file.sync().finally(() => file.close())
}

export async function releaseFolder(root: string): Promise<void> {
  await rm(join(root, FOLDER_MARK), { force: true })
}

function postgresPlace(service: string, url: string): Place {
  const schemaName = (stamp: string) => `before_restore_${stamp.toLowerCase()}`
  const schema = (stamp: string) => quoted(schemaName(stamp))
  const withConnection = async <R>(work: (run: Run) => Promise<R>) => {
    const connection = await openConnection(url)
    return work(connection.run).finally(() => connection.close())
  }
  const inTransaction = (...statements: string[]) =>
    withConnection(async (run) => {
      for (const statement of ['begin', ...statements, 'commit']) await run(statement)
    })
  return {
    name: `the database of ${service}`,
    isEmpty: async () => {
      const connection = await openConnection(url)
      return (await tableNames(connection).finally(() => connection.close())).length === 0
    },
    asideOf: (stamp) => `the schema ${schema(stamp)} of ${service}`,
    setAside: async (stamp) => {
      const current = await withConnection(currentSchema)
      if (await withConnection((run) => hasSchema(run, schemaName(stamp)))) return
      await inTransaction(
        `alter schema ${current} rename to ${schema(stamp)}`,
        `create schema ${current}`,
        `create table ${current}.${MARK} (since varchar(40))`,
      ).catch((error) => {
        throw orMissingRight(error, service)
      })
    },
    // Only the tables: the schema may hold views, functions and grants that are not ours.
    clear: async () => {
      const connection = await openConnection(url)
      try {
        const tables = (await tableNames(connection)).map(quoted)
        if (tables.length > 0) await connection.run(`drop table ${tables.join(', ')} cascade`)
      } finally {
        await connection.close()
      }
    },
    putBack: async (stamp) => {
      const current = await withConnection(currentSchema)
      await inTransaction(
        `drop schema ${current} cascade`,
        `alter schema ${schema(stamp)} rename to ${current}`,
      )
    },
  }
}

const INSUFFICIENT_PRIVILEGE = '42501'

/** The role may use the schema without owning it, as before PostgreSQL 15 even the owner of the database does. */
function orMissingRight(error: Error & { code?: string }, service: string): Error {
  if (error.code !== INSUFFICIENT_PRIVILEGE) return error
  const sentence = `The database of ${service} cannot be moved aside: ${error.message}. Use a role with that right, or restore to an empty database.`
  return new BackupError('refused', sentence, { cause: error })
}

type Run = Awaited<ReturnType<typeof openConnection>>['run']

async function hasSchema(run: Run, name: string): Promise<boolean> {
  return (await run('select 1 from pg_namespace where nspname = $1', [name])).length > 0
}

async function currentSchema(run: Run): Promise<string> {
  const [row] = await run('select current_schema() as name')
  return quoted(String(row?.name ?? 'public'))
}

/** Whether an unfinished restore has left its mark here. */
export async function isUnfinished({ database, root }: ServiceData): Promise<boolean> {
  if (root !== undefined && existsSync(join(root, FOLDER_MARK))) return true
  if (!database) return false
  const file = fileOf(database.url)
  if (file !== undefined && !existsSync(file)) return false
  const connection = await openConnection(database.url)
  return (await tableNames(connection).finally(() => connection.close())).includes(MARK)
}
