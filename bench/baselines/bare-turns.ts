/** The baseline of Node, `pg` and PostgreSQL: one row per request, one query per turn of the event loop. */
import { createServer, type ServerResponse } from 'node:http'
import pg from 'pg'

const pool = new pg.Pool({ connectionString: process.env.BARE_DATABASE_URL, max: 8 })
await pool.query(
  'create table if not exists bare_users (id bigint primary key, body text not null)',
)
await pool.query(
  "insert into bare_users select i, repeat('x', 150) from generate_series(1, 1000) i on conflict do nothing",
)

let waiting: { id: number; response: ServerResponse }[] = []

async function answerAll(): Promise<void> {
  const asked = waiting
  waiting = []
  const { rows } = await pool.query({
    name: 'users',
    text: 'select id, body from bare_users where id = any($1)',
    values: [asked.map(({ id }) => id)],
  })
  const bodies = new Map(rows.map(({ id, body }) => [Number(id), body]))
  for (const { id, response } of asked) {
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ id, body: bodies.get(id) }))
  }
}

const server = createServer((_request, response) => {
  if (waiting.length === 0) setImmediate(answerAll)
  waiting.push({ id: 1 + Math.floor(Math.random() * 1000), response })
}).listen(Number(process.env.BARE_PORT), 'localhost')

process.on('SIGTERM', async () => {
  server.close()
  server.closeAllConnections()
  await pool.end()
})
