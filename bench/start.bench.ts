import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { promisify } from 'node:util'
import { freePorts } from '../test/servers/free-ports.ts'
import { type BenchServer, type Row, startServer } from './harness.ts'

const OTHERS = ['IDENTITY', 'STORAGE_FULL', 'STORAGE_KEY', 'PAYMENTS', 'SANDBOX']
const LONGEST_START_MS = 1500
const MOST_MEMORY_MB = 180
// Threads that hashed the demo passwords rest for ten seconds before they are let go.
const IDLE_AFTER_MS = 15_000

/** `npm start` after `npm ci` and on an empty data folder, until the landing page, the last one, accepts connections. */
export default async function bench(): Promise<Row[]> {
  const compiled = mkdtempSync(join(tmpdir(), 'plinth-compiled-'))
  try {
    await install(compiled)
    const first = await start(compiled)
    await first.stop()
    const next = await start(compiled)
    await wait(IDLE_AFTER_MS)
    const memoryMb = next.memoryMb()
    await next.stop()
    return [
      startRow('npm start: the first after an install', first),
      startRow('npm start: after that', next),
      {
        name: 'npm start: memory when idle',
        figure: memoryMb === undefined ? 'unknown' : `${Math.round(memoryMb)} MB`,
        bar: `< ${MOST_MEMORY_MB} MB`,
        met: memoryMb === undefined ? undefined : memoryMb < MOST_MEMORY_MB,
      },
    ]
  } finally {
    rmSync(compiled, { recursive: true, force: true })
  }
}

/** The step of `npm ci` that matters here, into a folder of our own. */
async function install(compiled: string): Promise<void> {
  const program = join(import.meta.dirname, '../launcher/compile-ahead.js')
  const env = { PATH: process.env.PATH, NODE_COMPILE_CACHE: compiled }
  await promisify(execFile)(process.execPath, [program], { env })
}

async function start(compiled: string): Promise<BenchServer> {
  const ports = await freePorts(OTHERS.length)
  const numbered = OTHERS.map((name, index) => [`${name}_PORT`, String(ports[index])])
  const env = { ...Object.fromEntries(numbered), NODE_COMPILE_CACHE: compiled }
  return startServer('launcher/main.js', 'SUITE_PORT', env)
}

function startRow(name: string, { startMs }: BenchServer): Row {
  return {
    name,
    figure: `${(startMs / 1000).toFixed(2)} s`,
    bar: `< ${LONGEST_START_MS / 1000} s`,
    met: startMs < LONGEST_START_MS,
  }
}
