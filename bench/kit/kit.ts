import { compare } from '../harness/compare.ts'
import type { Row } from '../harness/row.ts'
import { startServer } from '../harness/server-process.ts'

/** The cost of the kit itself, in the smallest service that can be built on it. */
export async function kit(): Promise<Row[]> {
  const server = await startServer('bench/kit/greeting-server.ts', 'BENCH_PORT')
  try {
    const token = await (await fetch(`${server.url}/token`)).text()
    const mine = { path: '/greetings/mine', headers: { authorization: `Bearer ${token}` } }
    return [
      await compare('a JSON route, against node:http', server, { path: '/greeting' }, { bar: 0.6 }),
      await compare('a token verified and a row read, the same', server, mine, { bar: 0.5 }),
    ]
  } finally {
    await server.stop()
  }
}
