/**
 * Measures a server in its own process, driven from another process over a fixed number of
 * connections, and compares it with a bare `node:http` server that returns the same bytes.
 */
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { promisify } from 'node:util'
import type { Load, LoadOptions } from './driver.ts'
import { atLeast, perSecond, type Row } from './row.ts'
import { type BenchServer, startServer } from './server-process.ts'
import { SECONDS } from './settings.ts'
import { middleTurn } from './turns.ts'

export type BenchRequest = {
  method?: string
  path: string
  headers?: Record<string, string>
  body?: string | Buffer
}

/** Several requests are sent in turn. */
type Requests = BenchRequest | BenchRequest[]
type Options = {
  connections?: number
  seconds?: number
  /** Whether replies of 400 and above are expected instead of an error. */
  mayRefuse?: boolean
}

const TURNS = 3
const CONNECTIONS = 32
const HOP_BY_HOP = new Set(['connection', 'keep-alive', 'date', 'transfer-encoding'])

/** A row with the ratio to the bare server. */
export async function compare(
  what: string,
  server: BenchServer,
  requests: Requests,
  { bar }: { bar: number },
): Promise<Row> {
  const bare = await startBareServer(server, [requests].flat())
  try {
    await drive(server, requests, { seconds: SECONDS / 2 })
    await drive(bare, requests, { seconds: SECONDS / 2 })
    const { ours, baseline, ratio } = await middleTurn(TURNS, {
      ours: () => drive(server, requests),
      baseline: () => drive(bare, requests),
      ratio: ofRates,
      bar,
    })
    return {
      ...loadRow(what, server, ours),
      baseline: perSecond(baseline.requestsPerSecond),
      ratio,
      ...atLeast(bar, ratio),
    }
  } finally {
    await bare.stop()
  }
}

export function ofRates(ours: Load, baseline: Load): number {
  return ours.requestsPerSecond / baseline.requestsPerSecond
}

/** A row without comparison. */
export async function measure(what: string, server: BenchServer, requests: Requests): Promise<Row> {
  await drive(server, requests, { seconds: SECONDS / 2 })
  return loadRow(what, server, await drive(server, requests))
}

function loadRow(what: string, server: BenchServer, load: Load): Row {
  const { requestsPerSecond, p50Ms, p99Ms } = load
  return { what, ours: perSecond(requestsPerSecond), p50Ms, p99Ms, peakMb: server.peakMemoryMb() }
}

/** Sends the same requests repeatedly, from a separate process. */
export async function drive(
  server: { url: string },
  requests: Requests,
  { connections = CONNECTIONS, seconds = SECONDS, mayRefuse = false }: Options = {},
): Promise<Load> {
  const options: LoadOptions = {
    url: server.url,
    connections,
    seconds,
    requests: [requests].flat().map(({ body, ...request }) => ({
      ...request,
      bodyBase64: body === undefined ? '' : Buffer.from(body).toString('base64'),
    })),
  }
  const running = promisify(execFile)(process.execPath, [join(import.meta.dirname, 'driver.ts')])
  running.child.stdin?.end(JSON.stringify(options)) // Bodies are too large for an argument.
  const load: Load = JSON.parse((await running).stdout)
  if (load.refused > 0 && !mayRefuse) {
    const paths = [requests].flat().map(({ path }) => path)
    throw new Error(`${paths.join(', ')}: ${load.refused} were refused, one with ${load.sample}.`)
  }
  return load
}

/** A bare server that answers each path with the bytes that the real one returned. */
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
  const file = join(import.meta.dirname, '../baselines/bare-server.ts')
  return startServer(file, 'BARE_PORT', { BARE_REPLIES: JSON.stringify(replies) })
}
