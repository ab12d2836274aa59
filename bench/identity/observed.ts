/**
 * The cost of metrics and traces, against the same service without them. Compares CPU time per
 * request, because the differences are smaller than the noise of elapsed time.
 */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as wait } from 'node:timers/promises'
import { freePorts } from '../../test/servers/free-ports.ts'
import { type BenchRequest, drive } from '../harness/compare.ts'
import { atMost, type Row } from '../harness/row.ts'
import { type BenchServer, startServer } from '../harness/server-process.ts'
import { SECONDS } from '../harness/settings.ts'
import { type Spent, timeOfRequests } from '../harness/turns.ts'
import { ADMIN, logIn } from './service.ts'

const PATH = '/api/users/me'
const TURNS = 40
const STARTS = 15
const SETTLE_MS = 500
const SCRAPE_MS = 5_000

type Started = { startMs: number; memoryMb: number }

type Turn = { on: Started; off: Started }

type Observed = { server: BenchServer; own: BenchRequest }

export async function observed(): Promise<Row[]> {
  const answering = await startReceiver((request, reply) => {
    request.resume().on('end', () => reply.end('{}'))
  })
  const hanging = await startReceiver(() => {})
  const [port = 0, unused = 0] = await freePorts(2)
  const management = { SUITE_MANAGEMENT_PORT: String(port) }
  const started: BenchServer[] = []
  const start = async (env: Record<string, string>) => {
    const server = await startIdentity(env)
    started.push(server)
    return signedIn(server)
  }
  try {
    const starts = await startRows(management)
    const off = await start({})
    const measured = await start(management)
    const traced = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: answering.url })
    const hung = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: hanging.url })
    const alone = await start({ OTEL_EXPORTER_OTLP_ENDPOINT: `http://127.0.0.1:${unused}` })
    const scraping = setInterval(() => void scrape(port).catch(() => {}), SCRAPE_MS)
    try {
      return [
        await race(
          `processor time of GET ${PATH} with metrics on, scraped, against off`,
          measured,
          off,
          1.08,
        ),
        ...starts,
        await race(`processor time of GET ${PATH}, every request traced, against off`, traced, off),
        await race(
          'the same with a receiver that hangs, against one that answers',
          hung,
          traced,
          1.1,
        ),
        await race(
          'the same with a receiver that is gone, against one that answers',
          alone,
          traced,
          1.1,
        ),
      ]
    } finally {
      clearInterval(scraping)
    }
  } finally {
    for (const server of started) await server.stop()
    answering.close()
    hanging.close()
  }
}

function startIdentity(env: Record<string, string>): Promise<BenchServer> {
  return startServer('cli/main.js', 'IDENTITY_PORT', env, ['start', 'identity'])
}

/** The start time, and the memory in use after a login. */
async function startRows(management: Record<string, string>): Promise<Row[]> {
  const measure = async (env: Record<string, string>) => {
    const server = await startIdentity(env)
    await signedIn(server)
    await wait(SETTLE_MS)
    const memoryMb = server.memoryMb() ?? 0
    await server.stop()
    return { startMs: server.startMs, memoryMb }
  }
  const turns: Turn[] = []
  for (let turn = 0; turn < STARTS; turn++) {
    const first = await measure(turn % 2 === 0 ? management : {})
    const second = await measure(turn % 2 === 0 ? {} : management)
    turns.push(turn % 2 === 0 ? { on: first, off: second } : { on: second, off: first })
  }
  const row = (what: string, field: keyof Started, unit: string): Row => {
    const text = (value: number) => `${Math.round(value)} ${unit}`
    const ratioOf = ({ on, off }: Turn) => on[field] / off[field]
    const sorted = turns.toSorted((left, right) => ratioOf(left) - ratioOf(right))
    const { on, off } = sorted[STARTS >> 1] as Turn
    const ratio = on[field] / off[field]
    return {
      what,
      ours: text(on[field]),
      baseline: text(off[field]),
      ratio,
      ...atMost(1.08, ratio),
    }
  }
  return [
    row('memory of identity after a login with metrics on, against off', 'memoryMb', 'MB'),
    row('start of identity with metrics on, against off', 'startMs', 'ms'),
  ]
}

async function signedIn(server: BenchServer): Promise<Observed> {
  const { accessToken } = (await (await logIn(server, ADMIN)).json()) as { accessToken: string }
  return { server, own: { path: PATH, headers: { authorization: `Bearer ${accessToken}` } } }
}

async function race(what: string, one: Observed, other: Observed, bar?: number): Promise<Row> {
  for (const each of [one, other]) await spent(each, SECONDS / 2)
  const { ours, baseline, ratio } = await timeOfRequests(
    TURNS,
    () => spent(one, SECONDS / 10),
    () => spent(other, SECONDS / 10),
  )
  return {
    what,
    ours: microseconds(ours),
    baseline: microseconds(baseline),
    ratio,
    ...(bar !== undefined && atMost(bar, ratio)),
  }
}

async function spent({ server, own }: Observed, seconds: number): Promise<Spent> {
  const before = server.cpuMs()
  const { requestsPerSecond } = await drive(server, own, { seconds })
  return { ms: server.cpuMs() - before, requests: requestsPerSecond * seconds }
}

function microseconds(ms: number): string {
  return `${(ms * 1000).toFixed(1)} µs`
}

async function scrape(port: number): Promise<void> {
  const reply = await fetch(`http://127.0.0.1:${port}/actuator/prometheus`)
  await reply.arrayBuffer()
}

async function startReceiver(onRequest: RequestListener) {
  const server = createServer(onRequest)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const close = () => {
    server.close()
    server.closeAllConnections()
  }
  return { url: `http://127.0.0.1:${port}`, close }
}
