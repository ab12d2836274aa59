import { compare, type Row, startServer } from './harness.ts'

export default async function bench(): Promise<Row[]> {
  const server = await startServer('bench/servers/kit-route.ts', 'BENCH_PORT')
  try {
    const token = await (await fetch(`${server.url}/token`)).text()
    const mine = { path: '/greetings/mine', headers: { authorization: `Bearer ${token}` } }
    return [
      await compare('kit: a JSON route', server, { path: '/greeting' }, { bar: 0.75 }),
      await compare('kit: a token verified and a row read', server, mine, { bar: 0.5 }),
    ]
  } finally {
    await server.stop()
  }
}
