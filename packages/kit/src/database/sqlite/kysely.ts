import {
  DummyDriver,
  Kysely,
  SelectQueryNode,
  SqliteAdapter,
  SqliteDialect,
  SqliteQueryCompiler,
  Transaction,
} from 'kysely'
import { DirectExecutor, type Run } from '../engine.ts'
import { openSqlite } from './file.ts'
import { groupCommit, type InGroup } from './group-commit.ts'
import { Reads } from './reads.ts'
import { Writer } from './writer.ts'

/** A Kysely instance on a file: one connection writes, another reads outside of transactions. */
export function openSqliteKysely<T>(file: string, setting?: string): Kysely<T> {
  const database = openSqlite(file, setting)
  const dialect = new SqliteDialect({ database })
  const writer = new Writer(database)
  // An in-memory database belongs to the connection that created it.
  const reads = file === ':memory:' ? undefined : new Reads(file)
  const driver = new SqliteDriver(async () => {
    // The reader first: the last connection to close removes the WAL, if it may write.
    await reads?.close()
    await writer.close()
  })
  const propsFor = (run: Run) => {
    const executor = new DirectExecutor(run, COMPILER, adapter)
    return { config: { dialect }, dialect, driver, executor }
  }
  const inGroup = groupCommit(writer, <D>(run: Run) => new Transaction<D>(propsFor(run)))
  const adapter = new SqliteFileAdapter(inGroup)
  return new Kysely<T>(
    propsFor((query) => {
      const reader = SelectQueryNode.is(query.query) ? reads : undefined
      return (reader ?? writer).run(query)
    }),
  )
}

/** Gives every `Db` of the file access to its group commit. */
export class SqliteFileAdapter extends SqliteAdapter {
  readonly inGroup: InGroup

  constructor(inGroup: InGroup) {
    super()
    this.inGroup = inGroup
  }
}

const COMPILER = new SqliteQueryCompiler()

class SqliteDriver extends DummyDriver {
  readonly #close: () => Promise<void>

  constructor(close: () => Promise<void>) {
    super()
    this.#close = close
  }

  override async beginTransaction(): Promise<void> {
    throw new Error('Call inTransaction instead: transactions on SQLite are committed in groups.')
  }

  override destroy(): Promise<void> {
    return this.#close()
  }
}
