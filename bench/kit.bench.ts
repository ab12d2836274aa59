import { compare, type Row, startServer } from './harness.ts'

export default async function bench(): Promise<Row[]> {
  const server = await startServer('bench/servers/kit-route.ts', 'BENCH_PORT')
  try {
    return [await compare('kit: a JSON route', server, { path: '/greeting' }, { bar: 0.75 })]
  } finally {
    await server.stop()
  }
}
