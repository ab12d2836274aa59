import { type BenchRequest, drive } from '../harness/compare.ts'
import { atMost, type Row } from '../harness/row.ts'
import type { BenchServer } from '../harness/server-process.ts'

const CLIENTS = 50
const BAR_MB = 60

type Load = { what: string; warmUp: BenchRequest; request: BenchRequest }

/** The peak memory above idle. Idle is measured after a warm-up and before the load. */
export async function memoryGrowth(
  server: BenchServer,
  { what, warmUp, request }: Load,
): Promise<Row> {
  await drive(server, warmUp, { connections: CLIENTS, seconds: 1 })
  const idle = server.memoryMb() ?? 0
  await drive(server, request, { connections: CLIENTS })
  const peakMb = server.peakMemoryMb() ?? 0
  return {
    what: `memory of ${CLIENTS} parallel ${what}, over idle`,
    ours: `${Math.round(peakMb - idle)} MB`,
    ...atMost(BAR_MB, peakMb - idle, ' MB'),
    peakMb,
  }
}
