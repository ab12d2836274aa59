/**
 * Measures a server that runs as a process of its own, driven from another process with a fixed
 * number of connections, and compares it with a bare `node:http` server that answers the same bytes.
 *
 * A file `bench/<name>.bench.ts` has one default export and is found by `npm run bench [name…]`:
 *
 *   export default async function bench(): Promise<Row[]> {
 *     const server = await startServer('services/identity/src/main.ts', 'IDENTITY_PORT', { … })
 *     try {
 *       return [await compare('GET /me', server, { path: '/me', headers: { … } }, { bar: 0.5 })]
 *     } finally {
 *       await server.stop()
 *     }
 *   }
 *
 * - `startServer(file, portSetting, env)` runs a main.ts on a free port with LOG_LEVEL=warn and a
 *   temporary SUITE_DATA, and returns `{ url, pid, startMs, peakMemoryMb(), stop() }`.
 * - `compare(name, server, request, { bar })` gives a row with the ratio to the bare server. The two
 *   take turns, and the middle one of the ratios counts: a busy moment of the machine hits both.
 * - `measure(name, server, request, { minimum })` gives a row without comparison.
 * - `request` is `{ method?, path, headers?, body? }`, or several that take turns.
 * - BENCH_SECONDS (default 5) is how long each turn lasts. For a smoke run: `BENCH_SECONDS=0.5`.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Load, LoadOptions } from './drive.ts'
import { type BenchServer, startServer } from './server-process.ts'

export { type BenchServer, startServer } from './server-process.ts'

export type BenchRequest = {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

export type Row = {
  name: string
  requestsPerSecond?: number
  barePerSecond?: number
  ratio?: number
  p50Ms?: number
  p99Ms?: number
  peakMemoryMb?: number
  /** Anything that is not a rate: `0.42 s`, `118 logins/s`. */
  figure?: string
  /** What it must reach, in words, and whether it did. */
  bar?: string
  met?: boolean
}

type Requests = BenchRequest | BenchRequest[]
type Options = { connections?: number; seconds?: number }

const TURNS = 3
const SECONDS = Number(process.env.BENCH_SECONDS ?? 5)

export async function compare(
  name: string,
  server: BenchServer,
  requests: Requests,
  options: Options & { bar?: number } = {},
): Promise<Row> {
  const bare = await startBareServer(server, [requests].flat())
  try {
    await drive(server, requests, { ...options, seconds: SECONDS / 2 })
    await drive(bare, requests, { ...options, seconds: SECONDS / 2 })
    const turns: { own: Load; bare: Load }[] = []
    while (turns.length < TURNS)
      turns.push({
        own: await drive(server, requests, options),
        bare: await drive(bare, requests, options),
      })
    return comparisonRow(name, server, turns, options.bar)
  } finally {
    await bare.stop()
  }
}

export async function measure(
  name: string,
  server: BenchServer,
  requests: Requests,
  options: Options & { minimum?: number } = {},
): Promise<Row> {
  await drive(server, requests, { ...options, seconds: SECONDS / 2 })
  const load = await drive(server, requests, options)
  return {
    ...loadRow(name, server, load),
    ...(options.minimum !== undefined && {
      bar: `≥ ${options.minimum}/s`,
      met: load.requestsPerSecond >= options.minimum,
    }),
  }
}

function comparisonRow(
  name: string,
  server: BenchServer,
  turns: { own: Load; bare: Load }[],
  bar: number | undefined,
): Row {
  const ratioOf = (turn: { own: Load; bare: Load }) =>
    turn.own.requestsPerSecond / turn.bare.requestsPerSecond
  const middle = turns.toSorted((a, b) => ratioOf(a) - ratioOf(b))[TURNS >> 1] ?? turns[0]
  if (!middle) throw new Error('There were no turns.')
  const ratio = ratioOf(middle)
  return {
    ...loadRow(name, server, middle.own),
    barePerSecond: middle.bare.requestsPerSecond,
    ratio,
    ...(bar !== undefined && { bar: `≥ ${bar}`, met: ratio >= bar }),
  }
}

function loadRow(name: string, server: BenchServer, load: Load): Row {
  if (load.unexpected > 0)
    throw new Error(`${name}: ${load.unexpected} replies had an unexpected status (${load.sample})`)
  const { requestsPerSecond, p50Ms, p99Ms } = load
  return { name, requestsPerSecond, p50Ms, p99Ms, peakMemoryMb: server.peakMemoryMb() }
}

/** Sends the same requests again and again from a process of its own. */
export async function drive(
  server: { url: string },
  requests: Requests,
  options: Options = {},
): Promise<Load> {
  const load: LoadOptions = {
    url: server.url,
    connections: options.connections ?? 32,
    seconds: options.seconds ?? SECONDS,
    requests: [requests].flat().map(({ body, ...request }) => ({
      ...request,
      bodyBase64: body === undefined ? '' : Buffer.from(body).toString('base64'),
    })),
  }
  const running = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'drive.ts')])
  running.child.stdin?.end(JSON.stringify(load)) // Too large for an argument when bodies are.
  return JSON.parse((await running).stdout)
}

/** A server with nothing in it, that answers each path with the bytes the real one gave. */
async function startBareServer(server: BenchServer, requests: BenchRequest[]) {
  const replies: Record<string, unknown> = {}
  for (const { method = 'GET', path, headers, body } of requests) {
    const reply = await fetch(server.url + path, {
      method,
      headers,
      body: body as RequestInit['body'],
      redirect: 'manual',
    })
    const bytes = Buffer.from(await reply.arrayBuffer())
    const kept = [...reply.headers].filter(([key]) => !HOP_BY_HOP.has(key))
    replies[path] = { status: reply.status, headers: kept, bodyBase64: bytes.toString('base64') }
  }
  const file = join(import.meta.dirname, 'servers/bare.ts')
  return startServer(file, 'BARE_PORT', { BARE_REPLIES: JSON.stringify(replies) })
}

const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'date', 'transfer-encoding'])
