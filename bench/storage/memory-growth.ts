import { type BenchRequest, type BenchServer, drive, type Row } from '../harness.ts'

const CLIENTS = 50
const BAR_MB = 60

type Load = { what: string; warmUp: BenchRequest; request: BenchRequest }

/** How far the peak is above idle, idle being after a little work and before the load. */
export async function memoryGrowth(
  name: string,
  server: BenchServer,
  { what, warmUp, request }: Load,
): Promise<Row> {
  await drive(server, warmUp, { connections: CLIENTS, seconds: 1 })
  const idle = server.memoryMb() ?? 0
  const { unexpected, sample } = await drive(server, request, { connections: CLIENTS })
  if (unexpected > 0) throw new Error(`${what}: one was answered ${sample}.`)
  const grown = (server.peakMemoryMb() ?? 0) - idle
  return {
    name: `${name}: memory of ${CLIENTS} parallel ${what} over idle`,
    figure: `${Math.round(grown)} MB`,
    peakMemoryMb: server.peakMemoryMb(),
    bar: `≤ ${BAR_MB} MB`,
    met: grown <= BAR_MB,
  }
}
