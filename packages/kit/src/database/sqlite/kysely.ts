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

/** Queries of Kysely on a file: one connection writes, another reads outside of transactions. */
export function openSqliteKysely<T>(file: string): Kysely<T> {
  const database = openSqlite(file)
  const dialect = new SqliteDialect({ database })
  const writer = new Writer(database)
  // A database in memory belongs to the connection that made it.
  const reads = file === ':memory:' ? undefined : new Reads(file)
  const driver = new SqliteDriver(async () => {
    // Before the other: the last connection to close tidies up the log if it may write.
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

/** What every `Db` of a file has at hand: the group its transactions are committed with. */
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
    throw new Error('Call inTransaction: transactions on SQLite are committed in groups.')
  }

  override destroy(): Promise<void> {
    return this.#close()
  }
}
