import { execFile } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePortSettings } from '../../test/servers/free-ports.ts'
import { percentiles } from '../harness/latency.ts'
import { atMost, type Row } from '../harness/row.ts'
import { type BenchServer, startServer } from '../harness/server-process.ts'

const ROOT = join(import.meta.dirname, '../..')
const MAX_STARTS = 5
const MAX_MEMORY_MB = 180
// The threads that hashed the demo passwords exit after ten idle seconds.
const IDLE_AFTER_MS = 15_000

/**
 * `npm start` after `npm ci` on an empty data folder, until the landing page accepts connections, which is the last to
 * do so; against the smallest service on the kit, which opens one database.
 */
export async function start(folder: string): Promise<Row[]> {
  await install(folder)
  const least = await startLeast(folder)
  const first = await startSuite(folder)
  await first.stop()
  const next = await startSuite(folder)
  await wait(IDLE_AFTER_MS)
  const memoryMb = next.memoryMb()
  await next.stop()
  return [
    startRow('npm start, the first after an install', first, least),
    startRow('npm start, the next', next, least),
    {
      what: 'memory of npm start when idle',
      ours: memoryMb === undefined ? 'unknown' : `${Math.round(memoryMb)} MB`,
      ...(memoryMb !== undefined && atMost(MAX_MEMORY_MB, memoryMb, ' MB')),
    },
  ]
}

/** The step of `npm ci` that matters here, with a separate compile cache. */
async function install(compiled: string): Promise<void> {
  const program = join(ROOT, 'launcher/install/compile-ahead.js')
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compiled }
  await promisify(execFile)(process.execPath, [program], { env })
}

async function startSuite(compiled: string): Promise<BenchServer> {
  const { SUITE_PORT: _, ...ports } = await freePortSettings()
  const env = { ...ports, NODE_COMPILE_CACHE: compiled, NODE_OPTIONS: startOptions() }
  return startServer('cli/main.js', 'SUITE_PORT', env, ['start'])
}

/** The Node options of `npm start`. */
function startOptions(): string {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'))
  const [, options] = /^node (.*?) ?cli\/main\.js start$/.exec(scripts.start) ?? []
  if (options === undefined) throw new Error('npm start no longer runs cli/main.js.')
  return options
}

/** The median of three. The first fills the compile cache, as the installation does for the suite. */
async function startLeast(compiled: string): Promise<number> {
  const took: number[] = []
  for (let turn = 0; turn < 4; turn++) {
    const env = { NODE_COMPILE_CACHE: compiled }
    const server = await startServer('bench/kit/greeting-server.ts', 'BENCH_PORT', env)
    await server.stop()
    if (turn > 0) took.push(server.startMs)
  }
  return percentiles(took).p50Ms
}

function startRow(what: string, { startMs }: BenchServer, leastMs: number): Row {
  const ratio = startMs / leastMs
  return {
    what: `${what}, against the smallest service`,
    ours: `${(startMs / 1000).toFixed(2)} s`,
    baseline: `${(leastMs / 1000).toFixed(2)} s`,
    ratio,
    ...atMost(MAX_STARTS, ratio),
  }
}
