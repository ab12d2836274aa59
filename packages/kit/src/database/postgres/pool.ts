import pg from 'pg'
import type { Logger } from '../../logging.ts'
import { databaseUnavailable } from '../../problems.ts'

export type PoolOptions = {
  log?: Logger
  poolSize?: number
  connectMs?: number
  /** No limit if 0. */
  statementMs?: number
}

const POOL_SIZE = 8

const CONNECT_MS = 5_000
const STATEMENT_MS = 10_000
const IDLE_IN_TRANSACTION_MS = 60_000
/** Lets the server time out a statement before we give up on it. */
const SLACK_MS = 5_000

const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite returns numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export type PostgresPool = pg.Pool & {
  /** The statements that start a transaction. */
  begin: string[]
  /** How long to wait for an answer, even if the server vanishes without closing the connection; 0 is for ever. */
  answerMs: number
}

/** Every wait has a timeout: for a connection, for a statement unless `statementMs` is 0, and inside a transaction. */
export function openPool(connectionString: string, options: PoolOptions): PostgresPool {
  const statementMs = options.statementMs ?? STATEMENT_MS
  const limits = {
    // The driver leaves out the number 0, and the limit would be that of the role or the database.
    statement_timeout: `${statementMs}`,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
  }
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? POOL_SIZE,
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    ...limits,
    application_name: 'plinth',
    // So that a rollback need not wait for the answers to earlier statements.
    pipeline: true,
    types,
  } as pg.PoolConfig)
  const open = { begin: ['begin'], answerMs: statementMs && statementMs + SLACK_MS }
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  const connectOrAdapt = () =>
    connect().catch((error) => {
      if (!isPooler(error)) throw error
      // Behind a pooler the session is shared, so each transaction sets its own limits.
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
  // The pool handles errors of idle connections only; a connection lost while in use needs a listener, too.
  pool.on('connect', (client) => surviveLoss(client, options.log))
  pool.on('error', () => {})
  return Object.assign(pool, open)
}

/** PgBouncer refuses startup parameters that it does not know, although PostgreSQL would accept them. */
function isPooler(error: unknown): boolean {
  return /unsupported startup parameter/.test((error as Error).message)
}

function beginWith(limits: Record<string, number | string>): string[] {
  const settings = Object.entries(limits).map(([name, ms]) => `set local ${name} = ${ms}`)
  return ['begin', ...settings]
}

/** An error without a listener would end the process; the statement in flight fails anyway. */
function surviveLoss(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
