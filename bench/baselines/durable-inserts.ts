import pg from 'pg'

const CONNECTIONS = 10

/** Inserts of this size per second over ten connections, each durable before the next on its connection. */
export async function durableInsertsPerSecond(
  url: string,
  body: string,
  seconds: number,
): Promise<number> {
  const pool = new pg.Pool({ connectionString: url, max: CONNECTIONS })
  await pool.query('create table if not exists bare (id bigserial primary key, body text not null)')
  const insertFor = async (milliseconds: number) => {
    const started = performance.now()
    let rows = 0
    const insert = async () => {
      const client = await pool.connect()
      for (; performance.now() - started < milliseconds; rows++)
        await client.query({
          name: 'bare',
          text: 'insert into bare (body) values ($1)',
          values: [body],
        })
      client.release()
    }
    await Promise.all(Array.from({ length: CONNECTIONS }, insert))
    return rows / ((performance.now() - started) / 1000)
  }
  await insertFor(seconds * 500)
  const rate = await insertFor(seconds * 1000)
  await pool.end()
  return rate
}
