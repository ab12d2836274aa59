type Row = Record<string, string>

export type Reading = { rows(query: string): Promise<Row[]>; close(): Promise<void> }

const CONNECT_MS = 5_000

/** Opens a database read-only: opening it as a service does would migrate it. */
export async function readDatabase(url: string): Promise<Reading> {
  return url.startsWith('sqlite:') ? readFile(url.slice('sqlite:'.length)) : readServer(url)
}

async function readFile(file: string): Promise<Reading> {
  const { default: Sqlite } = await import('better-sqlite3')
  const db = new Sqlite(file, { readonly: true, fileMustExist: true, timeout: CONNECT_MS })
  db.pragma('schema_version')
  return {
    rows: async (query) => db.prepare(query).all() as Row[],
    close: async () => {
      db.close()
    },
  }
}

async function readServer(url: string): Promise<Reading> {
  const { default: pg } = await import('pg')
  const client = new pg.Client({
    connectionString: url,
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: CONNECT_MS,
  })
  try {
    await client.connect()
  } catch (error) {
    const { host, pathname } = new URL(url)
    const { message, code } = error as NodeJS.ErrnoException
    throw new Error(`the database "${pathname.slice(1)}" at ${host}: ${message || code}`)
  }
  await client.query('set default_transaction_read_only = on')
  return {
    rows: async (query) => (await client.query(query)).rows,
    close: () => client.end(),
  }
}
