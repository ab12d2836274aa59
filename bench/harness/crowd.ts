import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { type BenchRequest, drive } from './compare.ts'
import { percentiles, sampled } from './latency.ts'
import type { Row } from './row.ts'
import { startServer } from './server-process.ts'
import { SECONDS } from './settings.ts'

const MAX_MS = 100
const CONNECTIONS = 64

/** What is cheap to send, by name. Several requests are sent in turn. */
export type Crowds = Record<string, BenchRequest | BenchRequest[]>

type Crowded = {
  server: { url: string }
  /** How the request of the other client is called, and how it is sent. */
  what: string
  read(): Promise<Response>
  crowds: Crowds
}

/**
 * What another client's request takes, idle and while 64 connections do nothing but send one of these. The same at a
 * bare server shows how much of it is the machine.
 */
export async function crowdRows({ server, what, read, crowds }: Crowded): Promise<Row[]> {
  await sampled(read)
  const rows: Row[] = [
    { what: `${what}, idle`, ours: '', ...percentiles(await sampled(read)) },
    await bareRow(),
  ]
  for (const [name, requests] of Object.entries(crowds)) {
    const during = await timesDuring({ server, requests, read })
    rows.push({
      what: `${what}, ${CONNECTIONS} clients sending ${name}`,
      ours: '',
      ...during,
      bar: `p99 < ${MAX_MS} ms`,
      met: during.p99Ms < MAX_MS,
    })
  }
  return rows
}

async function bareRow(): Promise<Row> {
  const replies = { '/': { status: 200, headers: [], bodyBase64: '' } }
  const file = join(import.meta.dirname, '../baselines/bare-server.ts')
  const env = { BARE_REPLIES: JSON.stringify(replies) }
  const server = await startServer(file, 'BARE_PORT', env)
  try {
    const read = () => fetch(server.url)
    const during = await timesDuring({ server, requests: { path: '/' }, read })
    const what = `GET / at a bare node:http, ${CONNECTIONS} clients sending the same`
    return { what, ours: '', ...during }
  } finally {
    await server.stop()
  }
}

type Measured = Pick<Crowded, 'server' | 'read'> & { requests: BenchRequest | BenchRequest[] }

async function timesDuring({ server, requests, read }: Measured) {
  const options = { connections: CONNECTIONS, seconds: SECONDS + 1, mayRefuse: true }
  const load = drive(server, requests, options)
  await wait(500)
  const times = percentiles(await sampled(read))
  await load
  return times
}
