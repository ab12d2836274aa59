import { setTimeout } from 'node:timers/promises'
import pg from 'pg'
import type { Connection, Row, Snapshot, Value } from './tables.ts'

const BATCH = 500
const CONNECT_MS = 5_000
const INT8 = 20

const types = {
  getTypeParser: ((oid: number, format?: 'text') =>
    oid === INT8 ? Number : pg.types.getTypeParser(oid, format)) as typeof pg.types.getTypeParser,
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    application_name: 'plinth-backup',
    types,
  })
  // An error without a listener would end the process; the statement in flight fails anyway.
  client.on('error', () => {})
  await client.connect()
  await client.query('set statement_timeout = 0; set idle_in_transaction_session_timeout = 0')
  return client
}

function connectionOf(client: pg.Client): Connection {
  return {
    engine: 'postgres',
    run: async (sql, values = []) => (await client.query(sql, values)).rows,
    // A cursor needs a transaction, which every reader here has.
    async *stream(sql) {
      await client.query(`declare all_rows no scroll cursor for ${sql}`)
      for (;;) {
        const { rows } = await client.query<Row>({
          text: `fetch ${BATCH} from all_rows`,
          rowMode: 'array',
        } as never)
        if (rows.length === 0) break
        yield rows as unknown as Row[]
      }
      await client.query('close all_rows')
    },
    close: () => client.end(),
  }
}

export async function openPostgres(url: string): Promise<Connection> {
  return connectionOf(await connect(url))
}

/** Blocks no writers: a PostgreSQL snapshot is consistent by itself. */
export async function openPostgresSnapshot(url: string): Promise<Snapshot> {
  const client = await connect(url)
  return {
    ...connectionOf(client),
    lock: async () => {},
    pin: async () => {
      await client.query('begin isolation level repeatable read read only')
      await client.query('select pg_current_snapshot()')
    },
    release: () => {},
  }
}

const ENDING_MS = 2000
const PAUSE_MS = 50

/**
 * Counts only connections of services, not those of a backup or an operator's console. The connections
 * of a service that has just stopped linger for a moment, so wait for them.
 */
export async function isPostgresInUse(url: string): Promise<boolean> {
  const connection = await openPostgres(url)
  const deadline = performance.now() + ENDING_MS
  try {
    while (await hasServices(connection)) {
      if (performance.now() > deadline) return true
      await setTimeout(PAUSE_MS)
    }
    return false
  } finally {
    await connection.close()
  }
}

async function hasServices(connection: Connection): Promise<boolean> {
  const rows: Record<string, Value>[] = await connection.run(
    `select pid from pg_stat_activity where datname = current_database()
      and application_name = 'plinth' and pid <> pg_backend_pid()`,
  )
  return rows.length > 0
}
