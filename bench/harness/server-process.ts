import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join, resolve } from 'node:path'
import { setTimeout as wait } from 'node:timers/promises'
import { freePorts } from '../../test/servers/free-ports.ts'

const ROOT = join(import.meta.dirname, '../..')
const START_MS = 60_000

export type BenchServer = {
  url: string
  pid: number
  /** From the start of the process to its first accepted connection. */
  startMs: number
  /** CPU time of all its threads so far. */
  cpuMs(): number
  memoryMb(): number | undefined
  peakMemoryMb(): number | undefined
  stop(): Promise<void>
}

/** Runs a main file in its own process, on a free port and with a temporary data folder. */
export async function startServer(
  file: string,
  portSetting: string,
  env: Record<string, string> = {},
  words: string[] = [],
): Promise<BenchServer> {
  const folder = mkdtempSync(join(tmpdir(), 'plinth-bench-'))
  const [port = 0] = await freePorts(1)
  const started = performance.now()
  const child = spawn(process.execPath, [resolve(ROOT, file), ...words], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      LOG_LEVEL: 'warn',
      SUITE_DATA: folder,
      [portSetting]: String(port),
      ...env,
    },
    stdio: ['ignore', 'ignore', 'inherit'],
  })
  const ended = once(child, 'exit')
  const stop = async () => {
    child.kill('SIGTERM')
    await ended
    rmSync(folder, { recursive: true, force: true })
  }
  while (!(await accepts(port))) {
    if (child.exitCode !== null || performance.now() > started + START_MS) {
      await stop()
      throw new Error(`${file} did not start.`)
    }
    await wait(5)
  }
  const startMs = performance.now() - started
  return {
    url: `http://localhost:${port}`,
    pid: child.pid ?? 0,
    startMs,
    cpuMs: () => cpuMs(child.pid),
    memoryMb: () => memoryMb(child.pid, 'VmRSS'),
    peakMemoryMb: () => memoryMb(child.pid, 'VmHWM'),
    stop,
  }
}

/** Precise to the nanosecond, unlike /proc/PID/stat. Linux only. */
function cpuMs(pid: number | undefined): number {
  const threads = readdirSync(`/proc/${pid}/task`)
  const nanoseconds = threads.map((thread) =>
    Number.parseInt(readFileSync(`/proc/${pid}/task/${thread}/schedstat`, 'utf8'), 10),
  )
  return nanoseconds.reduce((sum, each) => sum + each, 0) / 1e6
}

function memoryMb(pid: number | undefined, field: string): number | undefined {
  try {
    const status = readFileSync(`/proc/${pid}/status`, 'utf8')
    return Number(new RegExp(`${field}:\\s+(\\d+)`).exec(status)?.[1]) / 1024
  } catch {
    return undefined // Linux only.
  }
}

async function accepts(port: number): Promise<boolean> {
  const { promise, resolve: settle } = Promise.withResolvers<boolean>()
  const socket = connect(port, 'localhost')
    .on('connect', () => settle(true))
    .on('error', () => settle(false))
  const accepted = await promise
  socket.destroy()
  return accepted
}
