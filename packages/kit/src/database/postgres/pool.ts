import pg from 'pg'
import { databaseUnavailable } from '../../problems.ts'
import type { Logger } from '../../runtime/logging.ts'

export type PoolOptions = {
  log?: Logger
  poolSize?: number
  connectMs?: number
  statementMs?: number
}

const POOL_SIZE = 8

const CONNECT_MS = 5_000
const STATEMENT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 60_000
/** The server ends a statement before we give it up. */
const SLACK_MS = 5_000

const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite gives numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export type PostgresPool = pg.Pool & {
  /** The statements that a transaction begins with. */
  begin: string[]
  /** How long an answer is waited for, also when the server is gone without a word. */
  answerMs: number
}

/** Every wait has an end: for a connection, for a statement, and inside a transaction. */
export function openPool(connectionString: string, options: PoolOptions): PostgresPool {
  const statementMs = options.statementMs ?? STATEMENT_MS
  const limits = {
    statement_timeout: statementMs,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  }
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? POOL_SIZE,
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    ...limits,
    application_name: 'plinth',
    // A rollback need not wait for the answers to what was sent before.
    pipeline: true,
    types,
  } as pg.PoolConfig)
  const open = { begin: ['begin'], answerMs: statementMs + SLACK_MS }
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  const connectOrAdapt = () =>
    connect().catch((error) => {
      if (!isPooler(error)) throw error
      // A session is not ours alone there, so that each transaction brings its limits along.
      for (const name of Object.keys(limits)) Reflect.deleteProperty(pool.options, name)
      Object.assign(pool, { begin: beginWith(limits) })
      return connect()
    })
  pool.connect = (async () => {
    try {
      return await connectOrAdapt()
    } catch (error) {
      throw databaseUnavailable({ cause: error })
    }
  }) as typeof pool.connect
  // The pool listens to idle connections only; a connection lost while in use needs a listener, too.
  pool.on('connect', (client) => surviveLoss(client, options.log))
  pool.on('error', () => {})
  return Object.assign(pool, open)
}

/** PgBouncer refuses what it does not know, though PostgreSQL would take it. */
function isPooler(error: unknown): boolean {
  return /unsupported startup parameter/.test((error as Error).message)
}

function beginWith(limits: Record<string, number>): string[] {
  const settings = Object.entries(limits).map(([name, ms]) => `set local ${name} = ${ms}`)
  return ['begin', ...settings]
}

/** An error without a listener would end the process; the statement in flight fails anyway. */
function surviveLoss(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
