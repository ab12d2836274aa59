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

const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite gives numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

/** Every wait has an end: for a connection, for a statement, and inside a transaction. */
export function openPool(connectionString: string, options: PoolOptions): pg.Pool {
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? POOL_SIZE,
    connectionTimeoutMillis: options.connectMs ?? CONNECT_MS,
    statement_timeout: options.statementMs ?? STATEMENT_MS,
    idle_in_transaction_session_timeout: IDLE_IN_TRANSACTION_MS,
    application_name: 'plinth',
    // Statements that do not wait for each other share a round trip.
    pipeline: true,
    types,
  } as pg.PoolConfig)
  const connect = pool.connect.bind(pool) as () => Promise<pg.PoolClient>
  pool.connect = (async () => {
    try {
      return await connect()
    } catch (error) {
      throw databaseUnavailable({ cause: error })
    }
  }) as typeof pool.connect
  // The pool listens to idle connections only; a connection lost while in use needs a listener, too.
  pool.on('connect', (client) => surviveLoss(client, options.log))
  pool.on('error', () => {})
  return pool
}

/** An error without a listener would end the process; the statement in flight fails anyway. */
function surviveLoss(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
