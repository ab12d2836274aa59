import {
  type CompiledQuery,
  DummyDriver,
  Kysely,
  PostgresAdapter,
  PostgresDialect,
  PostgresQueryCompiler,
  type QueryResult,
  Transaction,
} from 'kysely'
import { currentTrace, inTrace } from '../../tracing/trace-context.ts'
import { DirectExecutor, type Last, type Run } from '../engine.ts'
import { isPrepared } from '../prepared.ts'
import { coalesceStatements, Groups } from './groups.ts'
import { LookUps } from './look-ups.ts'
import type { PostgresPool } from './pool.ts'
import { isOutdatedPlan, Statements } from './statements.ts'
import {
  inOneTransaction,
  inSharedTransaction,
  type Patience,
  runForSeveral,
} from './transactions.ts'

type Work<T, R> = (db: Kysely<T>) => Promise<R | Last<R>>

/** A Kysely instance on a connection pool. */
export function openPostgresKysely<T>(pool: PostgresPool): Kysely<T> {
  const statements = new Statements()
  const dialect = new PostgresDialect({ pool })
  const driver = new PostgresDriver(() => pool.end())
  const dbFor = (run: Run) => {
    const executor = new DirectExecutor(run, COMPILER, adapter)
    return { config: { dialect }, dialect, driver, executor }
  }
  const waitMs = pool.options.connectionTimeoutMillis ?? 0
  const groups = new Groups<(run: Run) => Promise<unknown>, unknown>(
    (works) => inSharedTransaction({ pool, statements }, works),
    waitMs,
  )
  const adapter = new PostgresPoolAdapter(
    (work, options) =>
      inOneTransaction({ pool, statements, ...options }, (run) =>
        work(new Transaction(dbFor(run))),
      ),
    <D, R>(key: string, work: (db: Kysely<D>) => Promise<R>) => {
      // The group runs in the context of whichever member came first, so restore each member's own trace.
      const trace = currentTrace()
      const inOwnTrace = (run: Run) => inTrace(trace, () => work(new Transaction<D>(dbFor(run))))
      return groups.run(key, inOwnTrace) as Promise<R>
    },
  )
  const runAlone = (query: CompiledQuery) => sendAlone(pool, statements, query)
  const lookUps = new LookUps(runAlone)
  const forSeveral = (query: CompiledQuery) => runForSeveral({ pool, statements }, query)
  const runShared = coalesceStatements({ alone: runAlone, forSeveral }, waitMs)
  return new Kysely<T>(
    dbFor((query) => {
      if (!isPrepared(query)) return runAlone(query)
      if (query.together) return runShared(query)
      return query.many ? lookUps.run(query) : runAlone(query)
    }),
  )
}

const COMPILER = new PostgresQueryCompiler()

type Transact = <T, R>(work: Work<T, R>, options: Patience) => Promise<R>

type InGroup = <T, R>(key: string, work: (db: Kysely<T>) => Promise<R>) => Promise<R>

/** Gives every `Db` of the pool access to the functions that run its transactions. */
export class PostgresPoolAdapter extends PostgresAdapter {
  readonly transact: Transact
  readonly inGroup: InGroup

  constructor(transact: Transact, inGroup: InGroup) {
    super()
    this.transact = transact
    this.inGroup = inGroup
  }
}

class PostgresDriver extends DummyDriver {
  readonly #close: () => Promise<void>

  constructor(close: () => Promise<void>) {
    super()
    this.#close = close
  }

  override async beginTransaction(): Promise<void> {
    throw new Error('Call inTransaction instead: it retries when transactions conflict.')
  }

  override destroy(): Promise<void> {
    return this.#close()
  }
}

/** Runs a statement as a transaction of its own. */
async function sendAlone(
  pool: PostgresPool,
  statements: Statements,
  query: CompiledQuery,
): Promise<QueryResult<unknown>> {
  const client = await pool.connect()
  const send = () => statements.send(client, query, pool.answerMs)
  try {
    return await send().catch((error) => {
      if (!isOutdatedPlan(error)) throw error
      return send()
    })
  } finally {
    client.release()
  }
}
