import { PostgresDialect } from 'kysely'
import pg from 'pg'
import type { Logger } from '../logging.ts'

const CONNECT_MS = 5_000
const INT8 = 20

/** 64-bit integers as numbers: ids and amounts stay within 2^53, and SQLite gives numbers too. */
const types: pg.CustomTypesConfig = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

export function postgresDialect(
  connectionString: string,
  options: { log?: Logger; poolSize?: number },
): PostgresDialect {
  const pool = new pg.Pool({
    connectionString,
    max: options.poolSize ?? 10,
    connectionTimeoutMillis: CONNECT_MS,
    types,
  })
  // Only idle connections have a listener of the pool; one that is lost while in use has ours.
  pool.on('connect', (client) => survive(client, options.log))
  pool.on('error', () => {})
  return new PostgresDialect({ pool })
}

/** An error that nobody listens to would end the process; whoever waits for an answer fails anyway. */
function survive(client: pg.PoolClient, log: Logger | undefined): void {
  client.once('error', (error) => log?.warn({ err: error }, 'a database connection was lost'))
  client.on('error', () => {})
}
